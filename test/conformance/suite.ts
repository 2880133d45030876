import type { Rule } from "./rule.ts";
import { bookmarkRules } from "./rules/bookmarks.ts";
import { checkedRules } from "./rules/checked.ts";
import { conflictRules } from "./rules/conflicts.ts";
import { deletionRules } from "./rules/deletion.ts";
import { discoveryRules } from "./rules/discovery.ts";
import { eachResourceRules } from "./rules/each-resource.ts";
import { evictionRules } from "./rules/evictions.ts";
import { expiryRules } from "./rules/expiry.ts";
import { failureRules } from "./rules/failures.ts";
import { leaseRules } from "./rules/leases.ts";
import { listRules } from "./rules/lists.ts";
import { nameRules } from "./rules/names.ts";
import { namespaceRules } from "./rules/namespaces.ts";
import { pageRules } from "./rules/pages.ts";
import { patchRules } from "./rules/patches.ts";
import { requestRules } from "./rules/requests.ts";
import { selectorRules } from "./rules/selectors.ts";
import { statusRules } from "./rules/status.ts";
import { strategicPatchRules } from "./rules/strategic-patches.ts";
import { tableRules } from "./rules/tables.ts";
import { versionRules } from "./rules/versions.ts";
import { watchOrderRules } from "./rules/watch-order.ts";
import { watchPositionRules } from "./rules/watch-position.ts";

/** All properties of an API server on which siteward relies. */
export const suite: readonly Rule[] = [
  ...listRules,
  ...pageRules,
  ...versionRules,
  ...watchOrderRules,
  ...watchPositionRules,
  ...bookmarkRules,
  ...expiryRules,
  ...namespaceRules,
  ...discoveryRules,
  ...requestRules,
  ...failureRules,
  ...checkedRules,
  ...eachResourceRules,
  ...tableRules,
  ...evictionRules,
  ...leaseRules,
  ...selectorRules,
  ...nameRules,
  ...deletionRules,
  ...strategicPatchRules,
  ...statusRules,
  ...patchRules,
  ...conflictRules,
];
