import { parseObject } from "../../api/parse.ts";
import { leases, nodes } from "../../api/resources.ts";
import { matchesLabels } from "../../api/selectors.ts";
import { asRecord } from "../../base/json.ts";
import { counted } from "../../base/text/counted.ts";
import { siteAnnotation } from "../../board/sick-leader.ts";
import { leaseNamespaces } from "../../config/claim-settings.ts";
import type { Config } from "../../config/settings.ts";
import { olderClaims, type SiteLease, siteLeaseOf, siteSelector } from "../../site/site-lease.ts";
import type { ApiProbe } from "../api-probe.ts";
import { type CheckResult, fail, gravest, ok, skip, unreached, warn } from "../check-result.ts";
import { configOf, type Patient } from "../patient.ts";

/** Maximum number of boards, and of sites in a namespace, that are read. */
const maxNodes = 500;
const maxNamed = 3;

const partialList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/** A board that this configuration selects. */
export interface SelectedBoard {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /**
   * Namespace and name of the Lease of its agent's site, as that agent writes it on its Node; undefined if it does not.
   */
  readonly lease: string | undefined;
}

/** The facts about this site and others. */
export interface Surroundings {
  readonly boards: readonly SelectedBoard[];
  /** False if there are more boards than were read. */
  readonly isWhole: boolean;
  /** The Leases of all sites in the namespaces that this site reads. */
  readonly sites: readonly SiteLease[];
  /** The namespaces among these in which the agent is not allowed to list Leases. */
  readonly unread: readonly string[];
}

/**
 * Checks whether boards that this site selects belong to another one, according to the Lease of an older site, whose
 * claim the leader respects, or to the annotation of their agents. Works even before the first start, when this site
 * has no Lease and all other sites are older. The annotations of Nodes can be trusted, because tenants cannot write
 * them.
 */
export async function nodeSite(patient: Patient): Promise<CheckResult> {
  const { api } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  try {
    const query = new URLSearchParams({ limit: String(maxNodes), labelSelector: config.site.nodeSelector ?? "" });
    const { status, body } = await api.ask("GET", `/api/v1/nodes?${query}`, undefined, "application/json", partialList);
    if (status !== 200 || !Array.isArray(body?.items)) return skip(`the Nodes cannot be listed (HTTP ${status})`);
    const boards = body.items.flatMap(boardOf);
    const isWhole = (asRecord(body.metadata).continue ?? "") === "";
    return checkSelection({ boards, isWhole, ...(await sitesIn(api, leaseNamespaces(config.leader))) }, config);
  } catch {
    return unreached;
  }
}

function boardOf(item: unknown): readonly SelectedBoard[] {
  const parsed = parseObject(item, nodes, true);
  if (!parsed.ok) return [];
  const { name, labels, annotations } = parsed.object.metadata;
  return [{ name, labels, lease: annotations?.[siteAnnotation] }];
}

async function sitesIn(api: ApiProbe, namespaces: readonly string[]): Promise<Pick<Surroundings, "sites" | "unread">> {
  const sites: SiteLease[] = [];
  const unread: string[] = [];
  for (const namespace of namespaces) {
    const query = new URLSearchParams({ limit: String(maxNodes), labelSelector: siteSelector });
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases?${query}`;
    const { status, body } = await api.ask("GET", path, undefined, "application/json", partialList);
    if (status !== 200 || !Array.isArray(body?.items)) unread.push(namespace);
    else sites.push(...body.items.flatMap(siteOf));
  }
  return { sites, unread };
}

function siteOf(item: unknown): readonly SiteLease[] {
  const parsed = parseObject(item, leases, true);
  return parsed.ok ? siteLeaseOf(parsed.object) : [];
}

type Settings = {
  readonly site: Pick<Config["site"], "name">;
  readonly leader: Pick<Config["leader"], "namespace" | "otherNamespaces">;
  readonly board: Pick<Config["board"], "node">;
};

/** The verdict on boards of other sites. */
export function checkSelection(around: Surroundings, { site, leader, board }: Settings): CheckResult {
  const own = `${leader.namespace}/siteward-${site.name}`;
  const claims = olderClaims(around.sites, own, () => {});
  const byLease = new Map<string, string[]>();
  for (const { name, labels, lease } of around.boards) {
    // This board's own Node may still name the site that it belonged to before an enrolment.
    const annotated = lease === own || name === board.node ? undefined : lease;
    const other = claims.find(({ selector }) => matchesLabels(selector, labels))?.lease ?? annotated;
    if (other !== undefined) byLease.set(other, [...(byLease.get(other) ?? []), name]);
  }
  const found = [...byLease].map(([lease, names]) => foreign(lease, names, around, leader));
  if (found.length > 0) return gravest(found);
  if (around.unread.length > 0)
    return skip(`the Leases of other sites in namespace ${around.unread.join(" and ")} cannot be listed (api.rbac)`);
  const read = `${around.isWhole ? "" : "first "}${counted(around.boards.length, "board")} that this site selects`;
  return ok(`none of the ${read} belongs to another site`);
}

/** The verdict on the boards `names`, which belong to the site with another Lease. */
function foreign(
  lease: string,
  names: readonly string[],
  { sites, unread }: Surroundings,
  leader: Settings["leader"],
): CheckResult {
  const [namespace = "", name = ""] = lease.split("/");
  const isOne = names.length === 1;
  const boards = `${counted(names.length, "board")} that this site selects`;
  const named = `${names.slice(0, maxNamed).join(", ")}${names.length > maxNamed ? ", …" : ""}`;
  if (!leaseNamespaces(leader).includes(namespace))
    return warn(
      `${boards} ${isOne ? "runs an agent" : "run agents"} of the site with Lease ${lease}, which this site does not read: ${named}`,
      `Correct site.nodeSelector on one of the two sites, or set leader.otherNamespaces: "${namespace}" here, and ` +
        `"${leader.namespace}" on the boards of that site.`,
    );
  const other = sites.find(({ key }) => key === lease)?.site;
  if (other === undefined && !unread.includes(namespace))
    return warn(
      `${boards} last ran ${isOne ? "an agent" : "agents"} of the site with Lease ${lease}, which does not exist: ${named}`,
      "Enrol these boards for this site, or start their agents again.",
    );
  return fail(
    `${boards} ${isOne ? "belongs" : "belong"} to site ${other ?? lease} (${named})`,
    `Correct site.nodeSelector on one of the two sites, or, if ${other ?? "that site"} no longer exists: ` +
      `kubectl -n ${namespace} delete lease ${name}`,
  );
}
