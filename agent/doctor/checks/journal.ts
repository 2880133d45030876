import { join } from "node:path";
import { type Inspection, inspect } from "../../../storage/database/inspection.ts";
import { type CheckResult, fail, gravest, ok, skip, warn } from "../check-result.ts";
import { configOf, type Patient } from "../patient.ts";

/** Checks both databases as a whole. */
export function journalIntegrity(patient: Patient): CheckResult {
  const config = configOf(patient);
  if (!config) return skip("the configuration cannot be read");
  const runs = patient.status?.isFresh === true;
  const at = (name: string): string => join(config.state.folder, name);
  const [state, cache] = [inspect(at("state.db"), runs), inspect(at("cache.db"), runs)];
  return gravest([checkStateFile(at("state.db"), state, runs), checkCacheFile(at("cache.db"), cache, runs)]);
}

/** The verdict on state.db, whose content exists nowhere else. */
function checkStateFile(file: string, found: Inspection, runs: boolean): CheckResult {
  if (found.kind === "damaged")
    return fail(
      `${file} is damaged: ${found.why}`,
      "At its next start, the agent moves it aside and creates a new one; running toleration times then start again.",
    );
  // The running agent checked the whole file when it started, and holds it exclusively.
  if (found.kind === "busy") return ok(`${file} is in use by the agent, which found it sound when it started`);
  return checkFile(file, found, runs);
}

/** The verdict on cache.db, whose content can be listed again. */
function checkCacheFile(file: string, found: Inspection, runs: boolean): CheckResult {
  if (found.kind === "damaged")
    return warn(
      `${file} is damaged: ${found.why}`,
      "Restart the agent: it then deletes the file and lists everything again. Without a restart, it does so as soon as it finds the damage itself.",
    );
  return checkFile(file, found, runs);
}

function checkFile(file: string, found: Inspection, runs: boolean): CheckResult {
  switch (found.kind) {
    case "absent":
      return ok(`${file} does not exist yet`);
    case "unreadable":
      return skip(`${file} cannot be inspected: ${found.why}`);
    case "sound":
      return found.walBytes > 0 && !runs
        ? ok(
            `${file} is sound; the agent did not stop cleanly, so the next start applies the rest of the write-ahead log`,
          )
        : ok(`${file} is sound`);
    default:
      return skip(`${file} is in use`);
  }
}
