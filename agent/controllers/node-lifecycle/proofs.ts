import { boardLeaseKey, leases, nodes } from "../../api/resources.ts";
import { forEachConcurrently } from "../../base/concurrency/for-each-concurrently.ts";
import type { SiteView } from "../../loop/controller.ts";
import { type Circumstances, type Examined, examine, type Sighting } from "./health.ts";
import type { SiteMemory } from "./memory.ts";

/**
 * Maximum number of boards read from the API per pass, because if a watch has stalled unnoticed, every board appears
 * silent.
 */
const maxRequests = 64;

/**
 * Examines every board. If a board is about to count as silent and no watch proves its silence, its Lease is read from
 * the API: any answer either proves or refutes the silence. The Node is read too if the last sign of life came from its
 * status, or if there is no Lease.
 *
 * The silences of earlier terms are taken into account only in the decision: they concern boards that a term sees for
 * the first time, and do not change the verdicts on these boards in that pass.
 */
export async function readProofs(
  sightings: readonly Sighting[],
  context: { site: SiteView; memory: SiteMemory } & Omit<Circumstances, "now">,
): Promise<readonly Examined[]> {
  const { site, memory, link, holds, settings } = context;
  const examined = (sighting: Sighting): Examined => {
    const before = memory.boards.get(sighting.node.metadata.name)?.health;
    return examine(before, sighting, { link, holds, settings, now: site.now });
  };
  const found = sightings.map(examined);
  if (!link.live) return found;
  const open = [...found.entries()].filter(([, { verdict }]) => verdict.verdict === "unknown");
  await forEachConcurrently(open.slice(0, maxRequests), async ([index, board]) => {
    found[index] = examined(await reread(board, site));
  });
  return found;
}

async function reread({ sighting, health }: Examined, site: SiteView): Promise<Sighting> {
  const { name, uid } = sighting.node.metadata;
  const lease = await site.fetch(leases, boardLeaseKey(name));
  const answer = { lease: lease?.metadata.resourceVersion };
  if (lease !== undefined && !health.byStatus) return { ...sighting, answer };
  const node = await site.fetch(nodes, name);
  return { ...sighting, node: node?.metadata.uid === uid ? node : sighting.node, answer };
}
