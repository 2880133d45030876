import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { KubeSite } from "../support/kube-site.ts";
import { fill } from "../support/load.ts";
import type { Bench, BenchContext, Figure } from "./figure.ts";
import { heartbeats } from "./heartbeats.ts";
import { Peer } from "./peer.ts";

const day = 86_400;
const boards = 20;

/** What a calm site costs: flash and link bytes a day, extrapolated from minutes, and CPU. */
export const idle: Bench = {
  name: "idle",
  summary: `flash, link and CPU of a calm site of ${boards} boards, extrapolated to a day`,
  kube: true,
  run: measure,
};

async function* measure({ seed, quick, say }: BenchContext): AsyncGenerator<Figure> {
  const seconds = quick ? 60 : 300;
  const site = new KubeSite();
  const volatile = mkdtempSync("/dev/shm/siteward-bench-");
  const peer = new Peer(site.cluster);
  let stopBeats = (): void => {};
  try {
    await site.start();
    await fill(site.cluster, { nodes: boards, pods: 200, seed });
    stopBeats = heartbeats(site.cluster, boards);
    const leader = calm(site, "pi-1", volatile);
    await until("a leader", () => leader.leads, 30);
    const follower = calm(site, "pi-2", volatile);
    await until("a follower", () => follower.status()?.leader?.role === "standby", 30);
    await rest(30);
    say(`watching for ${seconds} s`);
    const agents = [leader, follower].map((agent) => ({
      agent,
      written: agent.written(),
      bytes: traffic(agent),
      cpu: agent.cpu(),
    }));
    await rest(seconds);
    const perDay = day / seconds;
    const [lead, follow] = agents.map(({ agent, written, bytes, cpu }) => ({
      flash: ((agent.written() - written) * perDay) / 1e6,
      link: mapped(traffic(agent), (name, sum) => ((sum - (bytes.get(name) ?? 0)) * perDay) / 1e6),
      cpu: (agent.cpu() - cpu) / (seconds * 10),
    }));
    if (!lead || !follow) return;
    yield { what: "flash written by the leader", value: lead.flash, unit: "MB/day", target: 25 };
    yield { what: "flash written by a follower", value: follow.flash, unit: "MB/day", target: 5 };
    const election = (lead.link.get("election") ?? 0) + 9 * (follow.link.get("election") ?? 0);
    yield { what: "election on 10 boards", value: election, unit: "MB/day", target: 20 };
    const watched = (lead.link.get("heartbeats") ?? 0) / 2;
    yield { what: "heartbeats of 10 boards, watched", value: watched, unit: "MB/day" };
    const rest10 = (lead.link.get("other") ?? 0) + 9 * (follow.link.get("other") ?? 0);
    yield {
      what: "everything, idle site of 10 boards",
      value: election + watched + rest10,
      unit: "MB/day",
      target: 100,
      note: "without the kubelets' own traffic",
    };
    await peer.start();
    await rest(30);
    const before = peer.cpu();
    await rest(Math.min(seconds, 120));
    const kcm = (peer.cpu() - before) / (Math.min(seconds, 120) * 10);
    yield { what: "CPU of the leader", value: lead.cpu, unit: "% of a core", target: kcm, peer: kcm };
  } finally {
    stopBeats();
    await peer.stop();
    await site.stop();
    rmSync(volatile, { recursive: true });
  }
}

/** As it is installed: its status is a file in memory, and it says little. */
function calm(site: KubeSite, board: string, volatile: string): AgentProcess {
  const run = path.join(volatile, board);
  mkdirSync(run);
  mkdirSync(path.join(site.cluster.dir, board));
  symlinkSync(run, path.join(site.cluster.dir, board, "run"));
  return site.agent(board, { status: { minInterval: "10s" }, log: { level: "info", format: "text" } });
}

/** Bytes up and down by what they were for, from the agent's own account. */
function traffic(agent: AgentProcess): ReadonlyMap<string, number> {
  const { traffic: rows = [] } = JSON.parse(readFileSync(agent.statusFile, "utf8")) as {
    traffic?: readonly { resource: string; verb: string; receivedBytes: number; sentBytes: number }[];
  };
  const sums = new Map<string, number>();
  for (const { resource, verb, receivedBytes, sentBytes } of rows) {
    const lease = resource.startsWith("leases");
    const name = lease && verb === "watch" ? "heartbeats" : lease ? "election" : "other";
    sums.set(name, (sums.get(name) ?? 0) + receivedBytes + sentBytes);
  }
  return sums;
}

const mapped = (
  sums: ReadonlyMap<string, number>,
  change: (name: string, sum: number) => number,
): ReadonlyMap<string, number> => new Map([...sums].map(([name, sum]) => [name, change(name, sum)]));
const rest = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time * 1000));
