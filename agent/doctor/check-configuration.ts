import type { Patient } from "./patient.ts";
import { fail, ok, type Verdict, warn } from "./verdict.ts";

/** Reports the same problems as `siteward config check`: file, line and suggestion. */
export function configParse({ configuration }: Patient): Verdict {
  if ("problems" in configuration) {
    const [first = "it cannot be read", ...rest] = configuration.problems;
    return fail(
      first,
      rest.length > 0 ? rest.join("\n") : "Correct it; siteward config reference names every setting.",
    );
  }
  const { files, warnings } = configuration.loaded;
  const read =
    files.length > 0 ? `${files.join(", ")} ${files.length === 1 ? "is" : "are"} good` : "no file: all defaults";
  return warnings.length > 0 ? warn(warnings.join("; "), read) : ok(read);
}
