import { join } from "node:path";
import { type Inspection, inspect } from "../../storage/inspection.ts";
import { configOf, type Patient } from "./patient.ts";
import { fail, gravest, ok, skip, type Verdict, warn } from "./verdict.ts";

/** Reads both databases from end to end. */
export function journalIntegrity(patient: Patient): Verdict {
  const config = configOf(patient);
  if (!config) return skip("the configuration cannot be read");
  const runs = patient.status?.isFresh === true;
  const at = (name: string): string => join(config.state.folder, name);
  const [state, cache] = [inspect(at("state.db"), runs), inspect(at("cache.db"), runs)];
  return gravest([stateVerdict(at("state.db"), state, runs), cacheVerdict(at("cache.db"), cache, runs)]);
}

/** Judges state.db, whose content cannot be recovered from elsewhere. */
export function stateVerdict(file: string, found: Inspection, runs: boolean): Verdict {
  if (found.kind === "damaged")
    return fail(
      `${file} is damaged: ${found.why}`,
      "The agent moves it aside at its next start and begins a new one: running toleration times start anew.",
    );
  // The agent checks the whole file before it leads, then holds it exclusively.
  if (found.kind === "busy") return ok(`${file} is in use by its agent, which found it sound at its start`);
  return verdictOf(file, found, runs);
}

/** Judges cache.db, whose content can be listed again. */
export function cacheVerdict(file: string, found: Inspection, runs: boolean): Verdict {
  if (found.kind === "damaged")
    return warn(
      `${file} is damaged: ${found.why}`,
      "It holds nothing that cannot be listed again: the agent throws it away when it meets the damage; a restart does it at once.",
    );
  return verdictOf(file, found, runs);
}

function verdictOf(file: string, found: Inspection, runs: boolean): Verdict {
  switch (found.kind) {
    case "absent":
      return ok(`${file} is not there yet`);
    case "unreadable":
      return skip(`${file} cannot be looked at: ${found.why}`);
    case "sound":
      return found.walBytes > 0 && !runs
        ? ok(`${file} is sound; its agent did not stop cleanly, and the log is folded in at the next start`)
        : ok(`${file} is sound`);
    default:
      return skip(`${file} is in use`);
  }
}
