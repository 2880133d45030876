import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import type { Text } from "./terminal-text.ts";

export interface Output {
  /**
   * Writes cleaned text (base/terminal-text.ts), no line break added. A closed reader (`… | head -1`) is not an error.
   */
  write(text: Text): void;
  /** Writes one line and its line break: line breaks in the text become spaces. */
  line(text: Text): void;
  /** Writes JSON and a line break; characters that steer a terminal are escaped. `indent`: for human readers. */
  json(value: unknown, indent?: number): void;
  /** Writes unchanged: for what readline draws while a user types. */
  echo(text: string): void;
  readonly isTTY: boolean;
  /** The width of the terminal; 100 if there is none. */
  readonly columns: number;
  /** The height of the terminal, if there is one. */
  readonly rows?: number | undefined;
}

/** The environment of a command. `main.ts` makes the real one; tests make their own. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts with an `Interrupted` on SIGINT or SIGTERM. A second signal ends the process at once. */
  readonly signal: AbortSignal;
  /** Calls `run` on each SIGHUP, which otherwise ends the process, until the returned function is called. */
  readonly onHangup: (run: () => void) => () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly hostname: string;
  /** The command that starts this program: `spawn(self[0], [...self.slice(1), "run", …])`. */
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

/** The arguments of a command, checked against the table of commands; missing entries were not given. */
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
