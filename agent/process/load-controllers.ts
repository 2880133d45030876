import type { HasDisposition } from "../base/errors.ts";
import type { LoadControllers } from "../leading/term-work.ts";

/**
 * The program's files were replaced by an upgrade that has not restarted this process yet. The process exits, and the
 * service manager starts the new program.
 */
class ProgramReplaced extends Error implements HasDisposition {
  readonly disposition = "exit";
  readonly hint =
    "Restart the service, so that it loads the files that are now installed. If that fails too, reinstall the package.";

  constructor(cause: unknown) {
    super("the controllers cannot be loaded, because the program has been replaced or damaged since it started", {
      cause,
    });
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
