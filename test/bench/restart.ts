import { readFileSync } from "node:fs";
import type { AgentProcess } from "../support/agent-process.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill } from "../support/load.ts";
import { rest } from "../support/rest.ts";
import { asInstalled } from "./as-installed.ts";
import { type Bench, type BenchContext, type Figure, median } from "./figure.ts";
import { heartbeats } from "./heartbeats.ts";
import { Peer } from "./peer.ts";
import { soon } from "./soon.ts";

const nodes = 50;
const controllers = [
  "node-lifecycle",
  "node-taints",
  "pod-readiness",
  "taint-eviction",
  "pod-gc",
  "daemonset",
  "endpoints",
  "endpoint-slice",
  "endpoint-slice-mirroring",
] as const;

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
    let peerReceived: number | undefined;
    for (let i = 0; i < runs; i++) {
      kcm.push(await peer.start());
      peerReceived = peer.received();
      await peer.stop();
    }
    const peerSync = median(kcm);
    // Both from the start of the process. The agent's includes taking the Lease. Each of them is a board that knows nothing.
    const firsts: number[] = [];
    let agent = await freshAgent(site, 1, firsts);
    for (let i = 2; i <= runs; i++) {
      await agent.stop();
      agent = await freshAgent(site, i, firsts);
    }
    yield {
      what: `first sync of ${pods} pods`,
      value: median(firsts),
      unit: "s",
      target: 2 * peerSync,
      peer: peerSync,
      note: `the slowest ${Math.max(...firsts).toFixed(1)} s`,
    };
    await rest(2);
    yield {
      what: "first sync, received",
      value: received(agent),
      unit: "MB",
      ...(peerReceived !== undefined && { target: 0.15 * peerReceived, peer: peerReceived }),
      note: "gzip pages",
    };
    const seconds: number[] = [];
    const all: number[] = [];
    const bytes: number[] = [];
    for (let i = 0; i < runs; i++) {
      await agent.stop("SIGTERM");
      agent.start();
      const begun = performance.now();
      seconds.push(await soon("ready again", () => agent.isReady, 60));
      await soon("all controllers again", () => starts(agent) === i + 2, 60);
      all.push((performance.now() - begun) / 1000);
      await rest(2);
      bytes.push(received(agent));
    }
    yield {
      what: `start to watches resumed, ${pods} pods stored`,
      value: median(seconds),
      unit: "s",
      target: 0.5,
      peer: peerSync,
    };
    yield {
      what: "start to the last controller at work",
      value: median(all),
      unit: "s",
      note: "evictions wait until the caches are known to have caught up",
    };
    yield {
      what: "restart, received",
      value: median(bytes),
      unit: "MB",
      target: 0.14,
      note: "two seconds of watching included",
    };
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

/** A board that has its first sync, and how long that took. It logs as an agent that nobody has configured. */
async function freshAgent(site: KubeSite, number: number, seconds: number[]): Promise<AgentProcess> {
  const agent = site.agent(`pi-${number}`, { log: asInstalled.log });
  seconds.push(await soon("the first sync", () => agent.isReady && starts(agent) === 1, 180));
  return agent;
}

/** How often it came so far that all of its controllers run. */
const starts = (agent: AgentProcess): number => {
  const text = agent.log();
  const times = controllers.map((name) => text.split(`controller started controller=${name} `).length - 1);
  return Math.min(...times);
};

function received(agent: AgentProcess): number {
  const { traffic = [] } = JSON.parse(readFileSync(agent.statusFile, "utf8")) as {
    traffic?: readonly { readonly receivedBytes: number }[];
  };
  return traffic.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0) / 1e6;
}
