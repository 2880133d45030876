import type { AgentProcess } from "../support/agent-process.ts";
import { rest } from "../support/rest.ts";

/** Measurements of an agent under load, in megabytes. */
export interface Seen {
  readonly peak: number;
  readonly anonymous: readonly number[];
  readonly missed: number;
  readonly slowest: number;
  readonly deepest: number;
  readonly terms: number;
  readonly problems: readonly string[];
}

/** Samples an agent once a second until the work is done. */
export async function watched(agent: AgentProcess, work: Promise<unknown>): Promise<Seen> {
  let isDone = false;
  const done = (): void => {
    isDone = true;
  };
  void work.then(done, done);
  const anonymous: number[] = [];
  const terms = new Set<number>();
  const problems = new Set<string>();
  const most = { missed: 0, slowest: 0, deepest: 0 };
  while (!isDone) {
    await rest(1);
    if (!agent.running) throw new Error(`the agent has exited: ${agent.log().slice(-400)}`);
    anonymous.push(agent.memory().anonymous);
    const status = agent.status();
    if (!status) continue;
    most.missed = Math.max(most.missed, status.leader?.missedRenewals ?? 0);
    most.slowest = Math.max(most.slowest, status.leader?.renewP95Ms ?? 0);
    most.deepest = Math.max(most.deepest, status.journal?.depth ?? 0);
    if (status.leader?.role === "leader") terms.add(status.leader.term ?? 0);
    for (const { type, severity } of status.health.conditions) if (severity !== "info") problems.add(type);
  }
  await work;
  return { peak: agent.memory().peak, anonymous, ...most, terms: terms.size, problems: [...problems] };
}

export const shown = ({ peak, anonymous, missed, slowest, deepest, problems }: Seen): string =>
  `peak ${mb(peak)}, anonymous ${mb(anonymous[0] ?? 0)} to ${mb(anonymous.at(-1) ?? 0)}, at most ${mb(Math.max(0, ...anonymous))}; ` +
  `${missed} renewals missed, the slowest 5 % took ${slowest} ms; at most ${deepest} deltas waited` +
  (problems.length > 0 ? `; problems: ${problems.join(", ")}` : "");

const mb = (megabytes: number): string => `${megabytes.toFixed(1)} MB`;
