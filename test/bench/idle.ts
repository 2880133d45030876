import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill } from "../support/load.ts";
import { rest } from "../support/rest.ts";
import { asInstalled } from "./as-installed.ts";
import { type Bench, type BenchContext, type Figure, number } from "./figure.ts";
import { heartbeats } from "./heartbeats.ts";
import { Peer } from "./peer.ts";

const minutesOfDay = 1440;
const boards = 20;

/** What a calm site costs: flash and link bytes a day, extrapolated from minutes, and CPU. */
export const idle: Bench = {
  name: "idle",
  summary: `flash, link and CPU of a calm site of ${boards} boards, extrapolated to a day`,
  kube: true,
  run: measure,
};

async function* measure({ seed, quick, say }: BenchContext): AsyncGenerator<Figure> {
  const minutes = quick ? 1 : 5;
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
    say(`watching for ${minutes} minutes`);
    const [led, followed] = await minutely(minutes, [leader, follower]);
    if (!led || !followed) return;
    yield { ...spread("flash written by the leader", led.map(flash)), target: 25 };
    yield { ...spread("flash written by a follower", followed.map(flash)), target: 5 };
    const election = led.map(
      (minute, i) => link(minute, "election") + link(minute, "lists") + 9 * link(followed[i], "election"),
    );
    yield { ...spread("election on 10 boards", election), target: 20 };
    const others = led.map((minute, i) => link(minute, "other") + 9 * link(followed[i], "other"));
    const watched = led.map((minute) => link(minute, "heartbeats") / 2);
    yield spread("heartbeats of 10 boards, watched", watched);
    const all = (beats: readonly number[]): readonly number[] =>
      beats.map((one, i) => one + (election[i] ?? 0) + (others[i] ?? 0));
    yield { ...without(spread("everything, idle site of 10 boards", all(watched))), target: 100 };

    await leader.stop();
    const lister = calm(site, "pi-3", volatile, { link: { heartbeats: "list" } });
    await until("another leader", () => lister.leads, 30);
    await rest(30);
    say(`watching one that lists the heartbeats for ${minutes} minutes`);
    const [listed] = await minutely(minutes, [lister]);
    const lists = (listed ?? []).map((minute) => link(minute, "lists") / 2);
    yield spread("heartbeats of 10 boards, listed", lists);
    yield { ...without(spread("everything, with heartbeats listed", all(lists))), target: 60 };
    await lister.stop();

    await peer.start();
    await rest(30);
    const before = peer.cpu();
    await rest(Math.min(minutes, 2) * 60);
    const kcm = (peer.cpu() - before) / (Math.min(minutes, 2) * 600);
    const cpu = led.map((minute) => minute.cpu);
    yield { ...spread("CPU of the leader", cpu), unit: "% of a core", target: kcm, peer: kcm };
  } finally {
    stopBeats();
    await peer.stop();
    await site.stop();
    rmSync(volatile, { recursive: true });
  }
}

/** What an agent did in one minute: megabytes, and CPU in per cent of a core. */
interface Minute {
  readonly written: number;
  readonly link: ReadonlyMap<string, number>;
  readonly cpu: number;
}

/** Each of the agents, minute by minute. */
async function minutely(count: number, agents: readonly AgentProcess[]): Promise<readonly (readonly Minute[])[]> {
  const minutes = agents.map((): Minute[] => []);
  for (let i = 0; i < count; i++) {
    const before = agents.map((agent) => ({ written: agent.written(), cpu: agent.cpu(), bytes: traffic(agent) }));
    await rest(60);
    for (const [at, agent] of agents.entries()) {
      const { written = 0, cpu = 0, bytes = new Map() } = before[at] ?? {};
      minutes[at]?.push({
        written: (agent.written() - written) / 1e6,
        link: mapped(traffic(agent), (name, sum) => (sum - (bytes.get(name) ?? 0)) / 1e6),
        cpu: (agent.cpu() - cpu) / 600,
      });
    }
  }
  return minutes;
}

/** The mean of some minutes, and how far apart they lie. */
function spread(what: string, minutes: readonly number[]): Figure {
  const mean = minutes.reduce((sum, one) => sum + one, 0) / minutes.length;
  const note =
    minutes.length > 1 ? `${number(Math.min(...minutes))} to ${number(Math.max(...minutes))} by the minute` : "";
  return { what, value: mean, unit: "MB/day", note };
}

const without = (figure: Figure): Figure => ({
  ...figure,
  note: [figure.note, "the kubelets' own traffic not counted"].filter(Boolean).join("; "),
});
const flash = ({ written }: Minute): number => written * minutesOfDay;
const link = (minute: Minute | undefined, what: string): number => (minute?.link.get(what) ?? 0) * minutesOfDay;

/** As it is installed: its status is a file in memory, and it says little. */
function calm(
  site: KubeSite,
  board: string,
  volatile: string,
  more: Readonly<Record<string, object>> = {},
): AgentProcess {
  const run = path.join(volatile, board);
  mkdirSync(run);
  mkdirSync(path.join(site.cluster.dir, board));
  symlinkSync(run, path.join(site.cluster.dir, board, "run"));
  return site.agent(board, { ...asInstalled, ...more });
}

/** Bytes up and down by what they were for, from the agent's own account. */
function traffic(agent: AgentProcess): ReadonlyMap<string, number> {
  const { traffic: rows = [] } = JSON.parse(readFileSync(agent.statusFile, "utf8")) as {
    traffic?: readonly { resource: string; verb: string; receivedBytes: number; sentBytes: number }[];
  };
  const sums = new Map<string, number>();
  for (const { resource, verb, receivedBytes, sentBytes } of rows) {
    const lease = resource.startsWith("leases");
    const name = !lease ? "other" : verb === "watch" ? "heartbeats" : verb === "list" ? "lists" : "election";
    sums.set(name, (sums.get(name) ?? 0) + receivedBytes + sentBytes);
  }
  return sums;
}

const mapped = (
  sums: ReadonlyMap<string, number>,
  change: (name: string, sum: number) => number,
): ReadonlyMap<string, number> => new Map([...sums].map(([name, sum]) => [name, change(name, sum)]));
