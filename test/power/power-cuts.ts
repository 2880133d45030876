import { existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import type { Pod } from "../../agent/api/core.ts";
import { writeKubeconfig } from "../../simulator/site-files.ts";
import { AgentProcess } from "../support/agent-process.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { Churn } from "./churn.ts";
import { type CutPoint, chooseCut, pointText, whenReached } from "./cut-point.ts";
import { differencesAtPosition, differencesNow, type Folder, readFolder } from "./mirror.ts";
import { RecordedSite } from "./recorded-site.ts";

export interface Report {
  readonly seed: number;
  readonly cuts: number;
  readonly points: Readonly<Record<string, number>>;
  readonly counts: Ledger["counts"];
  readonly terms: number;
  /** How often the cache equalled the server after a restart. */
  readonly compared: number;
  readonly problems: readonly string[];
}

type Ledger = RecordedSite["ledger"];

/** The longest permitted time from a start until the cache equals the server. */
const catchUp = 15_000;
/** The longest toleration has ended after this time. */
const allDue = 4000;
/** The longest permitted time from the last start until all due pods are deleted, on a machine that does other work. */
const latest = 30_000;
const mostProblems = 20;

/**
 * One agent on a busy site, whose power is cut repeatedly. After each cut its files must equal the server's state at their
 * position, and after each start the cache must catch up with the server.
 */
export async function cutPower(
  folder: string,
  {
    cuts,
    seed,
    progress = () => {},
  }: { readonly cuts: number; readonly seed: number; progress?: (line: string) => void },
): Promise<Report> {
  const random = new SeededRandom(seed);
  mkdirSync(folder, { recursive: true });
  const site = new RecordedSite(folder, seed);
  const churn = new Churn(site, new SeededRandom(seed + 1));
  const kubeconfig = path.join(folder, "kubeconfig");
  writeKubeconfig(kubeconfig, await site.listen());
  const agent = new AgentProcess({ dir: folder, board: "pi-1", kubeconfig, config: agentConfig });
  const state = path.join(agent.dir, "state");
  mkdirSync(state, { recursive: true });
  const points: Record<string, number> = {};
  const problems: string[] = [];
  let [compared, term] = [0, 0];
  const read = (): Folder => readFolder(state, path.join(folder, "copy"));
  const note = (at: number, point: CutPoint, found: readonly string[]): void => {
    problems.push(...found.slice(0, 5).map((problem) => `cut ${at} (${pointText(point)}): ${problem}`));
  };
  churn.begin();
  try {
    for (let at = 1; at <= cuts && problems.length < mostProblems; at++) {
      const point = chooseCut(random);
      points[point.at] = (points[point.at] ?? 0) + 1;
      agent.start();
      if (point.at === "start") churn.goOn();
      else {
        const apart = await inStep(read, site);
        note(at, point, apart.length > 0 ? [...apart, tailOf(agent)] : []);
        if (apart.length === 0) compared++;
        churn.goOn();
      }
      await whenReached(point, { site, folder: state }, () => void agent.stop("SIGKILL"));
      churn.pause();
      await agent.stop("SIGKILL");
      site.ledger.cut(performance.now());
      const left = existsSync(path.join(state, "state.db")) ? read() : undefined;
      note(at, point, left ? [...left.problems, ...differencesAtPosition(left, site.history)] : []);
      const stored = Number(left?.facts.get("term") ?? 0);
      if (stored < term) note(at, point, [`term ${term} was forgotten: ${stored} is stored`]);
      term = Math.max(stored, term);
      note(at, point, site.ledger.problems.splice(0));
      const positions = left?.resources.flatMap(({ position }) => position ?? []) ?? [];
      if (positions.length === 3) site.history.forget(Math.min(...positions));
      await whileOff(site, churn, random);
      if (at % 25 === 0)
        progress(`${at} of ${cuts} cuts, ${compared} comparisons, term ${term}, ${JSON.stringify(site.ledger.counts)}`);
    }
    note(cuts, { at: "load", after: 0 }, await lastWords(agent, read, site));
  } finally {
    await agent.stop("SIGKILL");
    churn.pause();
    await site.close();
  }
  return { seed, cuts, points, counts: site.ledger.counts, terms: term, compared, problems };
}

/** Lasting differences; empty as soon as there are none. */
async function inStep(read: () => Folder, site: RecordedSite): Promise<readonly string[]> {
  const begun = performance.now();
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 40));
    const [differences, late] = [differencesOf(read, site), performance.now() - begun > catchUp];
    if (differences.length === 0 || late) return differences;
  }
}

/** The files may be copied during a write. */
function differencesOf(read: () => Folder, site: RecordedSite): readonly string[] {
  try {
    const folder = read();
    return folder.problems.length > 0 ? folder.problems : differencesNow(folder, site.history);
  } catch (error) {
    return [`the files cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** The site changes without the agent, rarely for so long that its position is compacted. */
async function whileOff(site: RecordedSite, churn: Churn, random: SeededRandom): Promise<void> {
  const kind = random.integer(20);
  churn.steps(random.integer(30));
  if (kind === 0) {
    churn.calm();
    await new Promise((resolve) => setTimeout(resolve, 1300));
  }
  if (kind === 1) site.compact(random.integer(30));
}

/** A clean stop writes heartbeats from memory: then the files equal the server's objects to the last heartbeat. */
async function lastWords(agent: AgentProcess, read: () => Folder, site: RecordedSite): Promise<readonly string[]> {
  const begun = performance.now();
  agent.start();
  await new Promise((resolve) => setTimeout(resolve, allDue));
  const overdue = (): readonly string[] =>
    site.ledger.overdue(site.objects<Pod>("pods/"), performance.now(), Math.round(performance.now() - begun - allDue));
  while (overdue().length > 0 && performance.now() - begun < latest)
    await new Promise((resolve) => setTimeout(resolve, 200));
  const apart = [...overdue(), ...(await inStep(read, site))];
  const code = await agent.stop();
  const left = read();
  return [
    ...apart,
    ...(code === 0 ? [] : [`a clean stop ended with ${code}: ${tailOf(agent)}`]),
    ...differencesAtPosition(left, site.history),
  ];
}

const tailOf = (agent: AgentProcess): string => `the agent's log ends: ${agent.log().slice(-1500)}`;

const agentConfig = {
  leader: { duration: "5s", renewDeadline: "3s", retry: "1s" },
  nodeLifecycle: { monitorPeriod: "200ms", evictionRate: 100, secondaryRate: 100 },
  client: { qps: 1000, burst: 1000 },
  // Small pages and early checkpoints, for more moments with an operation in progress.
  cache: { pageSize: 10, sqlite: { walAutocheckpointPages: 40 } },
  log: { level: "info", format: "text" },
};
