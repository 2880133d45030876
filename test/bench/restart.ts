import { readFileSync } from "node:fs";
import { until } from "../support/agent-process.ts";
import { KubeSite } from "../support/kube-site.ts";
import { fill } from "../support/load.ts";
import { type Bench, type BenchContext, type Figure, median } from "./figure.ts";
import { heartbeats } from "./heartbeats.ts";
import { Peer } from "./peer.ts";

const nodes = 50;

/** First sync and restart of a leader: seconds and bytes, beside kube-controller-manager on the same server. */
export const restart: Bench = {
  name: "restart",
  summary: "first sync and restart with 10 000 pods: time, bytes, lists",
  kube: true,
  run: measure,
};

async function* measure({ seed, runs, quick, say }: BenchContext): AsyncGenerator<Figure> {
  const pods = quick ? 1000 : 10_000;
  const site = new KubeSite();
  const peer = new Peer(site.cluster);
  let stopBeats = (): void => {};
  try {
    await site.start();
    stopBeats = heartbeats(site.cluster, nodes);
    say(`creating ${pods} pods`);
    await fill(site.cluster, { nodes, pods, seed });
    const kcm: number[] = [];
    for (let i = 0; i < runs; i++) {
      kcm.push(await peer.start());
      await peer.stop();
    }
    const agent = site.agent("pi-1");
    await until("the first sync", () => started(agent.log()) === 1, 180);
    const first = readyAfter(agent.log());
    yield { what: `first sync of ${pods} pods`, value: first, unit: "s", target: 2 * median(kcm), peer: median(kcm) };
    yield { what: "first sync, received", value: received(agent.statusFile), unit: "MB", note: "gzip pages" };
    const seconds: number[] = [];
    const bytes: number[] = [];
    for (let i = 0; i < runs; i++) {
      await agent.stop("SIGTERM");
      agent.start();
      await until("ready again", () => started(agent.log()) === i + 2, 60);
      seconds.push(readyAfter(agent.log()));
      await until("a status", () => agent.status() !== undefined, 30);
      bytes.push(received(agent.statusFile));
    }
    yield {
      what: `start to watches resumed, ${pods} pods stored`,
      value: median(seconds),
      unit: "s",
      target: 0.5,
      better: "less",
      peer: median(kcm),
    };
    yield { what: "restart, received", value: median(bytes), unit: "MB", target: 0.14 };
    const lists = site
      .requestsOf(agent)
      .filter(({ verb, objectRef }) => verb === "list" && objectRef?.resource === "pods").length;
    yield { what: "lists of pods in all restarts", value: lists - Math.ceil(pods / 500), unit: "", target: 0 };
  } finally {
    stopBeats();
    await peer.stop();
    await site.stop();
  }
}

const marks = (log: string): readonly string[] =>
  log.split("\n").filter((line) => line.includes("controllers started"));
const started = (log: string): number => marks(log).length;

/** The agent says itself how long it took from its own start. */
function readyAfter(log: string): number {
  const text = /sinceStartMs=(\d+)/.exec(marks(log).at(-1) ?? "")?.[1];
  return text === undefined ? Number.NaN : Number(text) / 1000;
}

function received(statusFile: string): number {
  const { traffic = [] } = JSON.parse(readFileSync(statusFile, "utf8")) as {
    traffic?: readonly { receivedBytes: number }[];
  };
  return traffic.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0) / 1e6;
}
