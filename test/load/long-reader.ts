import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import path from "node:path";
import { asInstalled } from "../bench/as-installed.ts";
import { until } from "../support/agent-process.ts";
import { putInStore, storedPod } from "../support/kube/etcd-store.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards } from "../support/load.ts";
import { SeededChance } from "../support/load-chance.ts";
import { rest } from "../support/rest.ts";
import { cachedText } from "./cached.ts";
import type { Load, LoadContext } from "./load.ts";
import { shown, watched } from "./watched-agent.ts";

const pods = 500;
const perSecond = 200;

/** Another process reads the cache in one transaction for minutes, which prevents checkpoints. */
export const longReader: Load = {
  name: "long-reader",
  summary: `${perSecond} changes per second beside a reader of cache.db: the growth of the log is reported, and it shrinks afterwards`,
  run,
};

async function run({ seed, seconds, say, check }: LoadContext): Promise<void> {
  const site = new KubeSite();
  const chance = new SeededChance(seed);
  let reader: ChildProcess | undefined;
  try {
    await site.start();
    await fillBoards(site.cluster, { nodes: 3, pods: 0, seed });
    site.beat(0, 1, 2);
    const filling = [{ name: "FILLING", value: chance.text(4000) }];
    const pod = (i: number, mark: number) =>
      storedPod(`p-${i}`, boardName(i % 3), {
        labels: { mark: `m${mark}`, text: chance.text(60) },
        annotations: { filling: chance.text(2000) },
        env: filling,
      });
    await putInStore(
      site.cluster.etcd,
      Array.from({ length: pods }, (_, i) => pod(i, 0)),
    );
    const agent = site.agent("pi-1", asInstalled);
    await until("the agent is ready", () => agent.isReady, 60);
    const log = (): number =>
      statSync(path.join(agent.dir, "state/cache.db-wal"), { throwIfNoEntry: false })?.size ?? 0;
    const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
    const write = async (span: number): Promise<void> => {
      const begun = performance.now();
      for (let n = 0; (performance.now() - begun) / 1000 < span; n++) {
        await putInStore(
          site.cluster.etcd,
          Array.from({ length: perSecond / 10 }, (_, i) => pod((n * 20 + i) % pods, n)),
        );
        await rest(Math.max(0, (n + 1) / 10 - (performance.now() - begun) / 1000));
      }
    };
    await write(5);
    await until(
      "the cache has the latest change",
      () => !cachedText(agent, "pods", "default/p-0")?.includes('"m0"'),
      30,
    );
    const usual = log();
    reader = spawn(
      process.execPath,
      [path.join(import.meta.dirname, "hold-reader.ts"), path.join(agent.dir, "state/cache.db")],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    await new Promise((resolve) => reader?.stdout?.once("data", resolve));
    const seen = await watched(agent, write(seconds));
    const grown = log();
    say(`the log was ${mib(usual)}, and after ${seconds} s beside the reader ${mib(grown)}; ${shown(seen)}`);
    const isTold = seen.problems.includes("CacheLogHeld");
    check(grown < 16 * 2 ** 20 || isTold, "the status does not report the growing log");
    const gone = new Promise((resolve) => reader?.once("exit", resolve));
    reader.kill();
    await gone;
    await write(10);
    await until("the log is small again", () => log() <= 16 * 2 ** 20, 60);
    say(`and without it ${mib(log())}`);
    await until(
      "the problem is cleared",
      () => !agent.status()?.health.conditions.some(({ type }) => type === "CacheLogHeld"),
      30,
    );
    check(seen.missed === 0 && seen.terms === 1, `${seen.missed} renewals were missed, ${seen.terms} terms`);
  } finally {
    reader?.kill();
    await site.stop();
  }
}
