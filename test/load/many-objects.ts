import { asInstalled } from "../bench/as-installed.ts";
import { until } from "../support/agent-process.ts";
import { putInStore, storedPod } from "../support/kube/etcd-store.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards } from "../support/load.ts";
import { rest } from "../support/rest.ts";
import type { Load, LoadContext } from "./load.ts";
import { shown, watched } from "./watched-agent.ts";

const boards = 20;

/** The resources of a leader with very many small pods: for the list, while leading, and for a restart. */
export const manyObjects: Load = {
  name: "many-objects",
  summary: "100 000 small pods, or the number of --objects: the first list, a minute of leading, a restart",
  run,
};

async function run({ seed, objects, say, check }: LoadContext): Promise<void> {
  const site = new KubeSite();
  try {
    await site.start();
    await fillBoards(site.cluster, { nodes: boards, pods: 0, seed });
    site.beat(...Array.from({ length: boards }, (_, i) => i));
    await putInStore(
      site.cluster.etcd,
      Array.from({ length: objects }, (_, i) => storedPod(`p-${i}`, boardName(i % boards))),
    );
    say(`${objects} pods are there`);
    const agent = site.agent("pi-1", asInstalled);
    const count = (): number => agent.status()?.watches?.find(({ resource }) => resource === "pods")?.objects ?? 0;
    let ready = 0;
    const listed = await watched(
      agent,
      until("all are cached, and the agent is ready", () => agent.isReady && count() === objects, 600).then(
        (seconds) => {
          ready = seconds;
        },
      ),
    );
    say(`listed and ready after ${ready.toFixed(1)} s: ${shown(listed)}`);
    const seen = await watched(agent, rest(60));
    say(`a minute later: ${shown(seen)}, CPU ${(agent.cpu() / 1000).toFixed(1)} s until now`);
    await agent.stop();
    agent.start();
    const again = await until("it is ready again", () => agent.isReady && count() === objects, 120);
    const { peak, anonymous } = agent.memory();
    say(`ready again after ${again.toFixed(1)} s, peak ${peak.toFixed(1)} MB, anonymous ${anonymous.toFixed(1)} MB`);
    check(listed.missed + seen.missed === 0, `${listed.missed + seen.missed} renewals were missed`);
    check(listed.peak <= 110, `peak ${listed.peak.toFixed(1)} MB while it lists`);
    check((seen.anonymous.at(-1) ?? 0) <= 45, `anonymous ${seen.anonymous.at(-1)?.toFixed(1)} MB at rest`);
  } finally {
    await site.stop();
  }
}
