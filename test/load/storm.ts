import { asInstalled } from "../bench/as-installed.ts";
import { until } from "../support/agent-process.ts";
import { putInStore, storedLease, storedPod } from "../support/kube/etcd-store.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards } from "../support/load.ts";
import { SeededChance } from "../support/load-chance.ts";
import { rest } from "../support/rest.ts";
import { cachedText } from "./cached.ts";
import type { Load, LoadContext } from "./load.ts";
import { shown, watched } from "./watched-agent.ts";

const boards = 100;
const pods = 1000;
const perSecond = 2000;
/** Changes per transaction. */
const together = 100;

/** A continuous stream of heartbeats and pod statuses. */
export const storm: Load = {
  name: "storm",
  summary: `${perSecond} changes per second of Leases and pods; the backlog is bounded, renewals are on time, memory is released`,
  run,
};

async function run({ seed, seconds, say, check }: LoadContext): Promise<void> {
  const site = new KubeSite();
  const chance = new SeededChance(seed);
  try {
    await site.start();
    await fillBoards(site.cluster, { nodes: boards, pods: 0, seed });
    const pod = (i: number, mark: number) =>
      storedPod(`app-${i}`, boardName(i % boards), { labels: { mark: `m${mark}` } });
    await putInStore(
      site.cluster.etcd,
      Array.from({ length: pods }, (_, i) => pod(i, 0)),
    );
    const agent = site.agent("pi-1", asInstalled);
    await until("the agent is ready", () => agent.isReady, 60);
    await rest(5);
    const before = agent.memory();
    const marks = new Map<number, number>();
    let changes = 0;
    const begun = performance.now();
    const blow = async (): Promise<void> => {
      for (let passed = 0; passed < seconds; passed = (performance.now() - begun) / 1000) {
        const lease = () => storedLease(boardName(chance.below(boards)), new Date());
        const status = () => {
          const i = chance.below(pods);
          marks.set(i, changes);
          return pod(i, changes);
        };
        // etcd refuses an object twice in one transaction.
        const group = new Map(
          Array.from({ length: together }, (_, n) => (n % 2 ? lease() : status())).map((one) => [one.at, one]),
        );
        await putInStore(site.cluster.etcd, [...group.values()]);
        changes += group.size;
        const ahead = changes / perSecond - (performance.now() - begun) / 1000;
        if (ahead > 0) await rest(ahead);
      }
    };
    const seen = await watched(agent, blow());
    const took = (performance.now() - begun) / 1000;
    say(`${changes} changes in ${took.toFixed(0)} s, ${(changes / took).toFixed(0)} per second; ${shown(seen)}`);
    const [[last, mark] = [0, 0]] = [...marks].sort(([, a], [, b]) => b - a);
    const behind = await until(
      "the cache shows the last change",
      () => cachedText(agent, "pods", `default/app-${last}`)?.includes(`"m${mark}"`) === true,
      60,
    );
    await rest(Math.min(60, seconds));
    const after = agent.memory();
    say(
      `caught up after ${behind.toFixed(1)} s; anonymous ${before.anonymous.toFixed(1)} MB before, ${after.anonymous.toFixed(1)} MB after`,
    );
    check(seen.missed === 0 && seen.terms === 1, `${seen.missed} renewals were missed, ${seen.terms} terms`);
    check(behind < 30, `the cache was ${behind.toFixed(0)} s behind`);
    const [early, late] = halves(seen.anonymous);
    check(
      late - early < 10,
      `memory grows: ${early.toFixed(1)} MB in the first half, ${late.toFixed(1)} MB in the second`,
    );
    check(seen.peak <= 110, `peak ${seen.peak.toFixed(1)} MB`);
    check(after.anonymous - before.anonymous < 12, "the memory is not released");
  } finally {
    await site.stop();
  }
}

/** The means of both halves, without the first few seconds. */
function halves(values: readonly number[]): readonly [number, number] {
  const steady = values.slice(Math.min(10, values.length >> 2));
  const mean = (some: readonly number[]): number =>
    some.reduce((sum, value) => sum + value, 0) / Math.max(1, some.length);
  return [mean(steady.slice(0, steady.length >> 1)), mean(steady.slice(steady.length >> 1))];
}
