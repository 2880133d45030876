import { type AgentProcess, until } from "../support/agent-process.ts";
import { putInStore, storedBoard, storedPod } from "../support/kube/etcd-store.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, report } from "../support/load.ts";
import { rest } from "../support/rest.ts";
import { asInstalled } from "./as-installed.ts";
import type { Bench, BenchContext, Figure } from "./figure.ts";
import { median } from "./figure.ts";

/** Boards that go on living, each in a zone of its own; two more zones are dark. */
const alive = [0, 1, 2];
const zones = 5;

/** A site that loses nearly all of its boards at once: how soon the leader knows it, and how soon the API does. */
export const silentBoards: Bench = {
  name: "silent-boards",
  summary: "5 003 boards of which 5 000 fall silent at once: passes, RAM, until zones and conditions are right",
  kube: true,
  run: measure,
};

interface NodeList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly taints?: readonly { readonly key: string; readonly effect: string }[] };
    readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

/** What the status says, read again and again. */
interface Seen {
  readonly pass: number | undefined;
  readonly ready: number;
  readonly renewal: number | undefined;
  readonly missed: number;
  readonly problems: readonly string[];
}

async function* measure({ quick, say }: BenchContext): AsyncGenerator<Figure> {
  const [silent, pods] = quick ? [1000, 200] : [5000, 1000];
  const nodes = silent + alive.length;
  const site = new KubeSite();
  try {
    await site.start();
    say(`creating ${nodes} boards, ${pods} pods`);
    await fillSite(site, { silent, pods });
    site.beat(...alive);
    const agent = site.agent("pi-1", { ...asInstalled, status: { minInterval: "2s" } });
    await until("the agent leads", () => agent.isReady, 120);
    const peaked = (): string => `peak so far ${agent.memory().peak.toFixed(1)} MB`;
    say(`the agent leads, ${peaked()}; waiting for the silence to be over the grace period`);
    while (unknownOf(await nodesOf(site)).length === 0) await rest(1);
    say(`a board is Unknown, ${peaked()}`);
    const begun = performance.now();
    const passes: number[] = [];
    const problems = new Set<string>();
    let zonesRight: number | undefined;
    let cameBack: Promise<number> | undefined;
    let written = 0;
    let renewal = 0;
    let missed = 0;
    while (written < silent) {
      if (performance.now() - begun > 1_500_000)
        throw new Error(`${written} of ${silent} are Unknown after 25 minutes`);
      await rest(1);
      const seen = seenOf(agent);
      if (seen?.pass !== undefined) passes.push(seen.pass);
      renewal = Math.max(renewal, seen?.renewal ?? 0);
      missed = Math.max(missed, seen?.missed ?? 0);
      for (const problem of seen?.problems ?? []) if (!problems.has(problem)) say(`${after(begun)} s: ${problem}`);
      for (const problem of seen?.problems ?? []) problems.add(problem);
      if (seen?.ready === alive.length) zonesRight ??= after(begun);
      if (passes.length % 5 !== 0) continue;
      const before = written;
      const dark = unknownOf(await nodesOf(site));
      written = dark.length + (cameBack ? 1 : 0);
      if (written !== before) say(`${after(begun)} s: ${written} Unknown`);
      const tainted = dark.find(({ spec }) => (spec.taints ?? []).length > 0);
      if (written > silent / 4 && tainted && !cameBack) cameBack = comeback(site, tainted.metadata.name);
    }
    const seconds = after(begun);
    const { peak } = agent.memory();
    const target = <T extends object>(figure: T): T | undefined => (quick ? undefined : figure);
    yield { what: "monitor pass, median of the 95th percentile", value: median(passes), unit: "ms" };
    yield { what: "longest monitor pass", value: Math.max(...passes), unit: "ms", target: 15_000 };
    yield { what: "until the zones are right", value: zonesRight ?? Number.POSITIVE_INFINITY, unit: "s", target: 15 };
    yield { what: "until all conditions are written", value: seconds, unit: "s", ...target({ target: 620 }) };
    yield { what: "until a board that came back has no taint", value: (await cameBack) ?? 0, unit: "s", target: 20 };
    yield { what: "peak RSS", value: peak, unit: "MB", ...target({ target: 90 }) };
    yield { what: "renewal of the Lease, longest 95th percentile", value: renewal, unit: "ms", target: 1000 };
    yield { what: "renewals missed", value: missed, unit: "", target: 0 };
  } finally {
    await site.stop();
  }
}

/** Each board in one of the zones, and a pod on every few of the silent ones. */
async function fillSite(
  { cluster }: KubeSite,
  { silent, pods }: { readonly silent: number; readonly pods: number },
): Promise<void> {
  const nodes = silent + alive.length;
  const boards = Array.from({ length: nodes }, (_, i) => storedBoard(boardName(i), `zone-${i % zones}`));
  await putInStore(cluster.etcd, boards.flat());
  const boardOf = (i: number): string => boardName(alive.length + i * Math.floor(silent / pods));
  const onBoards = Array.from({ length: pods }, (_, i) => storedPod(`on-${boardOf(i)}`, boardOf(i)));
  await putInStore(cluster.etcd, onBoards);
}

const nodesOf = ({ cluster }: KubeSite): Promise<NodeList> => cluster.request("GET", "/api/v1/nodes");

const unknownOf = ({ items }: NodeList): NodeList["items"] =>
  items.filter(({ status }) => status.conditions.some(({ type, status: is }) => type === "Ready" && is === "Unknown"));

/** The board is heard again: until no taint of ours is left on it. */
async function comeback({ cluster }: KubeSite, name: string): Promise<number> {
  const i = Number(name.slice(name.lastIndexOf("-") + 1));
  const beat = setInterval(() => void report(cluster, i).catch(() => undefined), 5000);
  try {
    await report(cluster, i);
    return await until(
      `${name} has no taint`,
      async () => {
        const node = await cluster.request<NodeList["items"][number]>("GET", `/api/v1/nodes/${name}`);
        return (node.spec.taints ?? []).length === 0;
      },
      600,
    );
  } finally {
    clearInterval(beat);
  }
}

function seenOf(agent: AgentProcess): Seen | undefined {
  const status = agent.status();
  if (!status) return undefined;
  return {
    pass: status.controllers?.find(({ name }) => name === "node-lifecycle")?.syncP95Ms,
    ready: (status.zones ?? []).reduce((sum, zone) => sum + zone.ready, 0),
    renewal: status.leader?.renewP95Ms,
    missed: status.leader?.missedRenewals ?? 0,
    problems: status.health.conditions.map(({ type, subject }) => `${type}${subject ? ` ${subject}` : ""}`),
  };
}

const after = (begun: number): number => Math.round((performance.now() - begun) / 100) / 10;
