import { fork } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import path from "node:path";
import { nodeEnvironment, nodeFlags } from "../../agent/board/profile/runtime-flags.ts";
import { KubeCluster } from "../support/kube/kube-cluster.ts";
import { fill } from "../support/load.ts";
import { type Bench, type BenchContext, type Figure, median } from "./figure.ts";
import type { Cost } from "./initial-list.ts";

/** Which way to the first state of a cache costs less: pages, or a watch that begins with all objects. */
export const watchList: Bench = {
  name: "watch-list",
  summary: "the initial list of 5 000 pods by pages and as a stream (sendInitialEvents): peak RAM, bytes, time",
  kube: true,
  run: measure,
};

async function* measure({ seed, runs, quick, say }: BenchContext): AsyncGenerator<Figure> {
  const pods = quick ? 1000 : 5000;
  const cluster = new KubeCluster();
  try {
    await cluster.start();
    say(`creating ${pods} pods`);
    await fill(cluster, { nodes: 50, pods, seed });
    for (const way of ["pages", "stream"] as const) {
      const costs: Cost[] = [];
      for (let run = 0; run < runs; run++) costs.push(await take(cluster, way));
      const of = (what: keyof Cost): number => median(costs.map((cost) => cost[what]));
      if (of("objects") !== pods) throw new Error(`${way}: ${of("objects")} of ${pods} pods were taken`);
      yield { what: `${way}, peak RSS`, value: of("peak"), unit: "MB", note: `${Math.round(of("before"))} MB before` };
      yield { what: `${way}, received`, value: of("received"), unit: "MB" };
      yield { what: `${way}, time`, value: of("seconds"), unit: "s" };
    }
  } finally {
    await cluster.stop();
  }
}

async function take(cluster: KubeCluster, way: "pages" | "stream"): Promise<Cost> {
  const file = path.join(cluster.dir, "initial-list.db");
  const child = fork(path.join(import.meta.dirname, "initial-list.ts"), [way, cluster.kubeconfig, file], {
    execArgv: [...nodeFlags],
    env: { ...process.env, ...nodeEnvironment },
  });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`the list by ${way} ended with ${code}`);
  });
  const [cost] = await Promise.race([once(child, "message"), ended]);
  await ended.catch(() => {});
  for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
  return cost as Cost;
}
