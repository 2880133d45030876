import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import type { TerminalText } from "./text/terminal-text.ts";

export interface Output {
  /**
   * Writes text without control characters (base/text/terminal-text.ts) and adds no line break. A reader that has
   * closed the pipe (`… | head -1`) is not an error.
   */
  write(text: TerminalText): void;
  /** Writes one line and a line break. Line breaks within the text become spaces. */
  line(text: TerminalText): void;
  /**
   * Writes JSON and a line break; terminal control characters are escaped. `indent`: spaces per level, default none.
   */
  json(value: unknown, indent?: number): void;
  /** Writes the text unchanged; only for the output of readline while a user types. */
  echo(text: string): void;
  readonly isTTY: boolean;
  /** The width of the terminal in characters; 100 without a terminal. */
  readonly columns: number;
  /** The height of the terminal in lines; undefined without a terminal. */
  readonly rows?: number | undefined;
}

/** A command's access to the process that it runs in. `main.ts` passes the real one; tests pass their own. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts with an `Interrupted` on SIGINT or SIGTERM. A second signal ends the process immediately. */
  readonly signal: AbortSignal;
  /** Calls `run` on each SIGHUP, which otherwise ends the process, until the returned function is called. */
  readonly onHangup: (run: () => void) => () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly hostname: string;
  /**
   * The command line that starts this program, to be followed by arguments: `spawn(self[0], [...self.slice(1),
   * "run"])`.
   */
  readonly self: readonly string[];
  /** The program's installation folder, which contains `profiles.d/` (`firmware-profiles/` in the sources). */
  readonly home: string;
}

export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly signal: "SIGINT" | "SIGTERM";

  constructor(signal: "SIGINT" | "SIGTERM") {
    super(`ended by ${signal}`);
    this.signal = signal;
  }
}

/** The arguments of a command, already checked against the table of commands. */
export interface Args {
  /** Options without a value: `args.flags.has("json")`. */
  readonly flags: ReadonlySet<string>;
  /** Options with a value: `args.values.get("config")`. */
  readonly values: ReadonlyMap<string, string>;
  /** Arguments that are not options, in the order given. */
  readonly words: readonly string[];
}

/** A command: does its work and returns the exit code. */
export type Run = (io: Io, args: Args) => Promise<number>;
