import { type AgentProcess, until } from "../support/agent-process.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fillBoards, fillPods } from "../support/load.ts";
import { rest } from "../support/rest.ts";
import { asInstalled } from "./as-installed.ts";
import { type Bench, type BenchContext, type Figure, median } from "./figure.ts";
import { heartbeats } from "./heartbeats.ts";
import { Peer } from "./peer.ts";

const nodes = 50;

/** Resident memory of a leader at growing sites and of a follower beside it, in the steady state and at its peak. */
export const memory: Bench = {
  name: "memory",
  summary: "RAM of leader and follower at 0 to 20 000 pods, beside kube-controller-manager",
  kube: true,
  run: measure,
};

async function* measure({ seed, runs, quick, say }: BenchContext): AsyncGenerator<Figure> {
  const site = new KubeSite();
  const peer = new Peer(site.cluster);
  let stopBeats = (): void => {};
  const sizes = quick ? [0, 1000] : [0, 1000, 10_000, 20_000];
  const steady = new Map<number, number>();
  try {
    await site.start();
    stopBeats = heartbeats(site.cluster, nodes);
    await fillBoards(site.cluster, { nodes, pods: 0, seed });
    for (const [i, pods] of sizes.entries()) {
      say(`creating ${pods} pods`);
      await fillPods(site.cluster, { nodes, pods, seed }, sizes[i - 1] ?? 0);
      const top = pods >= 10_000;
      // Fresh leaders, so that the peak is that of listing everything for the first time; of the same site as those before
      // them: the younger one of two sites would leave all boards to the other.
      const peaks: number[] = [];
      for (let i = 1; top && i < runs; i++) {
        const first = await leaderOf(site, `first-${pods}-${i}`);
        await rest(2);
        peaks.push(first.memory().peak);
        await first.stop();
      }
      const leader = await leaderOf(site, `leader-${pods}`);
      const follower = pods === 0 ? site.agent("follower", asInstalled) : undefined;
      if (follower) await until("a follower", () => follower.status()?.leader?.role === "standby", 60);
      const calm = await quiet(() => leader.memory(), quick);
      steady.set(pods, calm.rss);
      const kcm = await peerAt(peer, quick);
      yield {
        what: `leader, ${pods} pods, RSS`,
        value: calm.rss,
        unit: "MB",
        ...(top && { target: 76 }),
        peer: kcm.rss,
      };
      yield {
        what: `leader, ${pods} pods, anonymous`,
        value: calm.anonymous,
        unit: "MB",
        ...(top && { target: 30 }),
        peer: kcm.anonymous,
      };
      yield {
        what: `leader, ${pods} pods, peak`,
        value: median([...peaks, calm.peak]),
        unit: "MB",
        target: calm.rss + 16,
        peer: kcm.peak,
        note: `first list included; the highest ${Math.max(...peaks, calm.peak).toFixed(1)} MB`,
      };
      if (follower) {
        const calmFollower = await quiet(() => follower.memory(), quick);
        yield { what: "follower, RSS", value: calmFollower.rss, unit: "MB", target: 56 };
        yield { what: "follower, anonymous", value: calmFollower.anonymous, unit: "MB", target: 16 };
        await follower.stop();
      }
      await leader.stop();
    }
    const [small, large] = [steady.get(1000), steady.get(20_000)];
    if (small !== undefined && large !== undefined)
      yield { what: "growth from 1 000 to 20 000 pods", value: (large / small - 1) * 100, unit: "%", target: 5 };
  } finally {
    stopBeats();
    await peer.stop();
    await site.stop();
  }
}

async function leaderOf(site: KubeSite, board: string): Promise<AgentProcess> {
  const leader = site.agent(board, asInstalled);
  await until("the leader is ready", () => leader.isReady, 180);
  return leader;
}

/** After a minute of quiet, the median of three looks. */
async function quiet(
  look: () => { rss: number; anonymous: number; peak: number },
  quick: boolean,
): Promise<{ rss: number; anonymous: number; peak: number }> {
  await rest(quick ? 15 : 60);
  const looks = [look()];
  for (let i = 0; i < 2; i++) {
    await rest(2);
    looks.push(look());
  }
  return {
    rss: median(looks.map(({ rss }) => rss)),
    anonymous: median(looks.map(({ anonymous }) => anonymous)),
    peak: Math.max(...looks.map(({ peak }) => peak)),
  };
}

async function peerAt(peer: Peer, quick: boolean): Promise<{ rss: number; anonymous: number; peak: number }> {
  await peer.start();
  const figures = await quiet(() => peer.memory(), quick);
  await peer.stop();
  return figures;
}
