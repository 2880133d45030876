import type { HasDisposition } from "../base/errors.ts";
import type { LoadControllers } from "../leading/term-work.ts";

/**
 * The files of this process are gone: an upgrade replaced them and has not restarted it yet. It must not lead; it
 * exits, and its supervisor starts the new program.
 */
class ProgramReplaced extends Error implements HasDisposition {
  readonly disposition = "exit";
  readonly hint =
    "Start it again: the program that is installed now begins with its own files. If that fails as well, reinstall the package.";

  constructor(cause: unknown) {
    super("the controllers cannot be loaded, the program was replaced or damaged since its start", { cause });
    this.name = "ProgramReplaced";
  }
}

export const loadControllers: LoadControllers = async () => {
  try {
    return await import("../leading/control-loops.ts");
  } catch (error) {
    throw new ProgramReplaced(error);
  }
};
