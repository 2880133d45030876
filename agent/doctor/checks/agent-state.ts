import type { Patient } from "../patient.ts";
import { type CheckVerdict, fail, ok, skip } from "../verdict.ts";

/** Checks only that the agent runs at all; everything else is in its status. */
export function agentState({ status: found }: Pick<Patient, "status">): CheckVerdict {
  if (found === undefined) return skip("there is no status of an agent");
  const { health, version } = found.status;
  const stopped = health.conditions.find(({ type }) => type === "AgentHeld" || type === "AgentEnded");
  if (stopped) return fail(`${stopped.type}: ${stopped.message}`, stopped.hint);
  return found.isFresh ? ok(`siteward ${version} runs`) : skip("the agent's status is out of date");
}
