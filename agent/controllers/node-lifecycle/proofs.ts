import { leases, nodes } from "../../api/resources.ts";
import type { SiteView } from "../../loop/controller.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { type Circumstances, type Examined, examine, type Sighting } from "./health.ts";
import type { SiteMemory } from "./memory.ts";

/** In one pass: where a watch is deaf without knowing it, every board seems to be silent. */
const mostQuestions = 64;

/**
 * A board is about to count as silent, and no watch vouches for it: its Lease is read from the API itself, and the
 * answer is the proof, whatever it says. The Node is asked for where it was the one that spoke last.
 *
 * Answers what is found of every board once this is known.
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
  await forEachConcurrently(open.slice(0, mostQuestions), async ([index, board]) => {
    found[index] = examined(await asked(board, site));
  });
  return found;
}

async function asked({ sighting, health }: Examined, site: SiteView): Promise<Sighting> {
  const { name, uid } = sighting.node.metadata;
  const lease = await site.fetch(leases, `kube-node-lease/${name}`);
  const answer = { lease: lease?.metadata.resourceVersion };
  if (lease !== undefined && !health.byStatus) return { ...sighting, answer };
  const node = await site.fetch(nodes, name);
  return { ...sighting, node: node?.metadata.uid === uid ? node : sighting.node, answer };
}
