import { endingText } from "../../status/ending-text.ts";
import { type CheckResult, fail, ok, skip } from "../check-result.ts";
import type { Patient } from "../patient.ts";

/** Checks only that the agent runs at all; everything else is in its status. */
export async function agentState({
  status: found,
  program,
}: Pick<Patient, "status" | "program">): Promise<CheckResult> {
  if (found === undefined) return (await isFailed(program)) ? fail("its service has failed", look) : neverRan;
  const { health, version } = found.status;
  const stopped = health.conditions.find(({ type }) => type === "AgentHeld" || type === "AgentEnded");
  if (stopped) return fail(`${stopped.type}: ${stopped.message}`, stopped.hint);
  const { stale } = found;
  if (stale === undefined) return ok(`siteward ${version} runs`);
  const { why, isGone } = stale;
  return isGone
    ? fail(
        `the agent is not running (${why}): ${endingText(found.status)}`,
        `${look}; start it: sudo systemctl start siteward`,
      )
    : fail(`the agent does not respond (${why})`, `${look}; systemd's watchdog restarts it if it hangs`);
}

const look = "See systemctl status siteward and journalctl -u siteward -n 50";

const neverRan = skip("there is no status of an agent: it has not run on this board since the last boot");

/** Whether systemd gave up on the service, or keeps restarting it. */
async function isFailed(program: Patient["program"]): Promise<boolean> {
  const shown = await program("systemctl", ["show", "siteward.service", "-p", "ActiveState,Result"]);
  const properties = shown?.code === 0 ? shown.stdout.split("\n") : [];
  return properties.includes("ActiveState=failed") || properties.some((line) => /^Result=(?!success$)./.test(line));
}
