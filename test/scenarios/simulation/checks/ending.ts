import type { SimBoard } from "../sim-board.ts";
import type { Site } from "../site.ts";

/**
 * All agents stop cleanly, the leader last, while nothing else changes: then the leader's cache equals the API server's
 * objects, the Lease is free, and no agent has left a timer, request or watch.
 */
export async function checkEnding(site: Site): Promise<readonly string[]> {
  const leader = site.leader;
  site.keeper.stop();
  for (const board of site.boards) board.stopKubelet();
  await pass(site, 5000);
  const wrong = await checkStop(
    site,
    site.boards.filter((board) => board !== leader),
  );
  if (leader) wrong.push(...(await checkStop(site, [leader])));
  if (leader) wrong.push(...checkCache(site, leader));
  const holder = site.recorder.history.leases.at(-1)?.lease?.holder;
  if (holder !== "") wrong.push(`ending: the Lease is still held by ${holder}`);
  return wrong;
}

const pass = (site: Site, time: number): Promise<void> => site.time.runUntil(site.time.now + time);

async function checkStop(site: Site, boards: readonly SimBoard[]): Promise<string[]> {
  const running = boards.flatMap((board) => (board.agent === undefined ? [] : [{ board, agent: board.agent }]));
  for (const { agent } of running) agent.stop.abort(new Error("stopped by the test"));
  await pass(site, 5000);
  return running.flatMap(({ board, agent: { process, isOver } }) => {
    const { name } = board.plate;
    if (!isOver) return [`ending: ${name} does not stop`];
    const open = board.agentEdge.openOf(process);
    return [
      ...(process.timers > 0 ? [`ending: ${name} leaves ${process.timers} timers`] : []),
      ...(open > 0 ? [`ending: ${name} leaves ${open} requests`] : []),
    ];
  });
}

interface Row {
  readonly resource: string;
  readonly key: string;
  readonly uid: string;
  readonly version: string;
}

function checkCache({ api }: Site, { storage, plate }: SimBoard): readonly string[] {
  const rows = storage.cache
    .prepare<Row>(
      "SELECT r.name AS resource, o.key, o.uid, o.version FROM objects o JOIN resources r ON r.id = o.resource",
    )
    .all();
  const cached = new Set(
    rows.map(({ resource, key, uid, version }) => `${/^\w+/.exec(resource)?.[0]} ${key} ${uid} ${version}`),
  );
  const stored = new Set(
    [
      ["nodes", "nodes/"],
      ["leases", "leases/kube-node-lease/"],
      ["pods", "pods/"],
    ].flatMap(([resource, prefix = ""]) =>
      api.all(prefix).map((text) => {
        const { metadata } = JSON.parse(text);
        const key = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
        return `${resource} ${key} ${metadata.uid} ${metadata.resourceVersion}`;
      }),
    ),
  );
  const waiting = storage.cache.prepare<{ count: number }>("SELECT count(*) AS count FROM journal").get()?.count ?? 0;
  return [
    ...[...cached]
      .filter((row) => !stored.has(row))
      .map((row) => `cache: ${plate.name} has ${row}, the API server does not`),
    ...[...stored].filter((row) => !cached.has(row)).map((row) => `cache: ${plate.name} lacks ${row}`),
    ...(waiting > 0 ? [`cache: ${waiting} deltas wait in the journal of ${plate.name}`] : []),
  ];
}
