import { dispatch } from "./dispatch.ts";
import { processIo } from "./process-io.ts";

/** The whole program: every command. */
export const anyCommand = (main: string, argv: readonly string[]): Promise<number> => dispatch(processIo(main), argv);
