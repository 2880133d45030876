import { asRecord } from "../base/json.ts";
import { siteAnnotation } from "../board/sick-leader.ts";
import { leaseNamespaces } from "../config/claim-settings.ts";
import type { Config } from "../config/settings.ts";
import { configOf, type Patient } from "./patient.ts";
import { ok, skip, unreached, type Verdict, warn } from "./verdict.ts";

/** Maximum number of boards read. */
const some = 500;

/** A board selected by this site, with the Lease of its agent's site as annotated by that agent. */
export interface OwnWord {
  readonly board: string;
  readonly lease: string;
}

/**
 * Checks whether boards selected by this site run agents of another one. Sites that do not read each other's Lease
 * namespace cannot detect this otherwise. Annotations of Nodes are trusted, as tenants cannot write them.
 */
export async function nodeSite(patient: Patient): Promise<Verdict> {
  const { api } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  try {
    const query = new URLSearchParams({ limit: String(some), labelSelector: config.site.nodeSelector ?? "" });
    const { status, body } = await api.ask("GET", `/api/v1/nodes?${query}`);
    if (status !== 200 || !Array.isArray(body?.items)) return skip(`the Nodes cannot be listed (HTTP ${status})`);
    return siteVerdict(body.items.flatMap(wordOf), config.leader);
  } catch {
    return unreached;
  }
}

function wordOf(item: unknown): readonly OwnWord[] {
  const { name, annotations } = asRecord(asRecord(item).metadata);
  const lease = asRecord(annotations)[siteAnnotation];
  return typeof name === "string" && typeof lease === "string" ? [{ board: name, lease }] : [];
}

/** Sites whose Lease is in a namespace that is read are left out: their claims are known from the Lease. */
export function siteVerdict(
  words: readonly OwnWord[],
  leader: Pick<Config["leader"], "namespace" | "otherNamespaces">,
): Verdict {
  const read = leaseNamespaces(leader);
  const strangers = words.filter(({ lease }) => !read.includes(lease.split("/")[0] ?? ""));
  const [first] = strangers;
  if (first === undefined) return ok(`no board of another site among the ${words.length} that say where they belong`);
  const named = strangers.slice(0, 3).map(({ board }) => board);
  return warn(
    `${strangers.length} of the boards that this site selects run agents of the site with Lease ${first.lease}, which this site ` +
      `does not read: ${named.join(", ")}${strangers.length > 3 ? ", …" : ""}`,
    `Correct site.nodeSelector of one of the two sites, or set leader.otherNamespaces: "${first.lease.split("/")[0]}" here, and ` +
      `"${leader.namespace}" on its boards.`,
  );
}
