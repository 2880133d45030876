import { dispatch } from "./dispatch.ts";
import { processIo } from "./process-io.ts";

/** The whole program with all commands. */
export const anyCommand = (main: string, argv: readonly string[]): Promise<number> => dispatch(processIo(main), argv);
