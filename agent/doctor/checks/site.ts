import { asRecord } from "../../base/json.ts";
import { siteAnnotation } from "../../board/sick-leader.ts";
import { leaseNamespaces } from "../../config/claim-settings.ts";
import type { Config } from "../../config/settings.ts";
import { configOf, type Patient } from "../patient.ts";
import { type CheckVerdict, ok, skip, unreached, warn } from "../verdict.ts";

/** Number of boards that are read. */
const mostBoards = 500;

/** A board that this site selects, with the site that its agent belongs to. */
export interface BoardOrigin {
  readonly board: string;
  /** Namespace and name of that site's Lease, from the annotation that the agent writes on its Node. */
  readonly lease: string;
}

/**
 * Checks whether boards that this site selects run agents of another site. Sites that do not read each other's Leases
 * cannot detect this otherwise. The annotations of Nodes can be trusted, because tenants cannot write them.
 */
export async function nodeSite(patient: Patient): Promise<CheckVerdict> {
  const { api } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  try {
    const query = new URLSearchParams({ limit: String(mostBoards), labelSelector: config.site.nodeSelector ?? "" });
    const { status, body } = await api.ask("GET", `/api/v1/nodes?${query}`);
    if (status !== 200 || !Array.isArray(body?.items)) return skip(`the Nodes cannot be listed (HTTP ${status})`);
    return siteVerdict(body.items.flatMap(originOf), config.leader);
  } catch {
    return unreached;
  }
}

function originOf(item: unknown): readonly BoardOrigin[] {
  const { name, annotations } = asRecord(asRecord(item).metadata);
  const lease = asRecord(annotations)[siteAnnotation];
  return typeof name === "string" && typeof lease === "string" ? [{ board: name, lease }] : [];
}

/**
 * The verdict on boards of other sites. Omits sites whose Leases this site reads: their claims are known from the
 * Leases.
 */
export function siteVerdict(
  origins: readonly BoardOrigin[],
  leader: Pick<Config["leader"], "namespace" | "otherNamespaces">,
): CheckVerdict {
  const read = leaseNamespaces(leader);
  const strangers = origins.filter(({ lease }) => !read.includes(lease.split("/")[0] ?? ""));
  const [first] = strangers;
  if (first === undefined)
    return ok(`none of the ${origins.length} boards with an annotated site belongs to another site`);
  const named = strangers.slice(0, 3).map(({ board }) => board);
  return warn(
    `${strangers.length} of the boards that this site selects run agents of the site with Lease ${first.lease}, which this site ` +
      `does not read: ${named.join(", ")}${strangers.length > 3 ? ", …" : ""}`,
    `Correct site.nodeSelector of one of the two sites, or set leader.otherNamespaces: "${first.lease.split("/")[0]}" here, and ` +
      `"${leader.namespace}" on the boards of that site.`,
  );
}
