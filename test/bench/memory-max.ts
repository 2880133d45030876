import { AgentProcess, until } from "../support/agent-process.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fill } from "../support/load.ts";
import { rest } from "../support/rest.ts";
import { BoardDisk } from "./board-disk.ts";
import type { Bench, BenchContext, Figure } from "./figure.ts";
import { heartbeats } from "./heartbeats.ts";
import { MemoryGroup } from "./memory-group.ts";

const limit = 64;
const nodes = 50;
const lost = nodes - 1;
const evictable = 50;

/**
 * A leader that may not have more than 64 MB, in a real cgroup, through all that a leader lives through. The pages of its
 * files count as well, and what of them had to go is read again: each agent runs a Node that nobody else has in memory.
 */
export const memoryMax: Bench = {
  name: "memory-max",
  summary: `a leader of 10 000 pods in a cgroup of ${limit} MB: first sync, eviction, outage, take-over`,
  kube: true,
  missing: () => MemoryGroup.missing() ?? BoardDisk.missing(),
  run: measure,
};

async function* measure({ seed, quick, say }: BenchContext): AsyncGenerator<Figure> {
  const pods = quick ? 1000 : 10_000;
  const site = new KubeSite();
  using disk = BoardDisk.make(1024);
  using first = MemoryGroup.make("pi-1", limit * 2 ** 20);
  using second = MemoryGroup.make("pi-2", limit * 2 ** 20);
  const silent = new Set<number>();
  let stopBeats = (): void => {};
  let done = 0;
  try {
    await site.start();
    stopBeats = heartbeats(site.cluster, nodes, (board) => silent.has(board));
    say(`creating ${pods} pods`);
    await fill(site.cluster, { nodes, pods, seed });
    await fillBriefly(site);
    const leader = limited(site, disk, "pi-1", first);
    const other = limited(site, disk, "pi-2", second);
    const ready = (agent: AgentProcess) => (): boolean => agent.isReady;
    const steps: readonly (readonly [string, () => Promise<number>])[] = [
      [
        `first sync of ${pods} pods`,
        () => {
          leader.start();
          return until("the leader is ready", ready(leader), 300);
        },
      ],
      [
        "eviction of a board's pods, from its last heartbeat",
        () => {
          silent.add(lost);
          return until("they are evicted", async () => (await left(site)) === 0, 300);
        },
      ],
      [
        "ready again after an outage of the API server of 60 s",
        async () => {
          await site.cluster.killApi();
          await rest(60);
          if (leader.isReady) throw new Error("it has not noticed the outage");
          await site.cluster.startApi();
          return until("the leader is ready again", ready(leader), 300);
        },
      ],
      [
        "take-over by the other board, which lists everything",
        async () => {
          other.start();
          await until("a follower", () => other.status()?.leader?.role === "standby", 120);
          await leader.stop("SIGKILL");
          return until("the other one is ready", ready(other), 300);
        },
      ],
    ];
    for (const [what, step] of steps) {
      try {
        yield { what, value: await step(), unit: "s" };
        done++;
      } catch (error) {
        say(`${what}: ${error instanceof Error ? error.message : error}`);
        break;
      }
    }
    yield { what: "steps that were completed", value: done, unit: "", target: steps.length, better: "more" };
    const figures = [first, second].map((group) => group.figures());
    const sum = (of: (one: (typeof figures)[number]) => number): number =>
      figures.reduce((all, one) => all + of(one), 0);
    yield { what: "killed for want of memory", value: sum(({ kills }) => kills), unit: "times", target: 0 };
    for (const [i, { peak, readAgain }] of figures.entries()) {
      yield { what: `pi-${i + 1}: most that its group held`, value: peak, unit: "MB", note: "pages of files included" };
      yield { what: `pi-${i + 1}: pages of files read again`, value: readAgain, unit: "MB" };
    }
  } finally {
    stopBeats();
    await site.stop();
  }
}

function limited(site: KubeSite, disk: BoardDisk, board: string, group: MemoryGroup): AgentProcess {
  const { kubeconfig } = site.cluster;
  const config = {
    leader: { followers: "poll", duration: "15s", renewDeadline: "10s", retry: "2s" },
    nodeLifecycle: { gracePeriod: "30s", evictionRate: 1 },
    judgement: { recovery: "10s" },
    log: { level: "info", format: "text" },
  };
  const through = group.with(disk.program(process.execPath, `node-of-${board}`));
  const agent = new AgentProcess({ dir: disk.folder, board, kubeconfig, config, through });
  site.agents.push(agent);
  return agent;
}

/** Pods on the board that will be lost which stay there for five seconds, not for five minutes as the others do. */
async function fillBriefly(site: KubeSite): Promise<void> {
  const briefly = ["not-ready", "unreachable"].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 5,
  }));
  for (let i = 0; i < evictable; i++) {
    await site.cluster.request("POST", "/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `brief-${i}`, labels: { stay: "brief" } },
      spec: {
        nodeName: boardName(lost),
        tolerations: briefly,
        containers: [{ name: "main", image: "example/app:1" }],
      },
    });
  }
}

/** How many of them nobody has deleted yet. */
async function left(site: KubeSite): Promise<number> {
  const { items } = await site.cluster.request<{ items: readonly { metadata: { deletionTimestamp?: string } }[] }>(
    "GET",
    "/api/v1/namespaces/default/pods?labelSelector=stay%3Dbrief",
  );
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
}
