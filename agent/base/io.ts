import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import type { Text } from "./terminal-text.ts";

export interface Output {
  /**
   * Writes cleaned text (base/terminal-text.ts); no line break is added. A reader that has gone (`siteward status | head -1`)
   * is no error.
   */
  write(text: Text): void;
  /** The same for one line, with its line break: those in the text become spaces. */
  line(text: Text): void;
  /** JSON with a line break behind it; what a terminal must not get is escaped in it. `indent`: for a person's eyes. */
  json(value: unknown, indent?: number): void;
  /** Writes as is: what readline draws while a person types. */
  echo(text: string): void;
  readonly isTTY: boolean;
  /** The width of the terminal; 100 where there is none. */
  readonly columns: number;
  /** The height of the terminal, where there is one. */
  readonly rows?: number | undefined;
}

/** What surrounds a command. `main.ts` makes the real one; tests make their own. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts with an `Interrupted` at SIGINT or SIGTERM. A second signal ends the process at once. */
  readonly signal: AbortSignal;
  /** Calls it at each SIGHUP, which ends the process otherwise, until what it returns is called. */
  readonly onHangup: (run: () => void) => () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly hostname: string;
  /** How this very program is started: `spawn(self[0], [...self.slice(1), "run", …])`. */
  readonly self: readonly string[];
  /** The folder into which the program was installed; `profiles.d/` lies in it (`firmware-profiles/` in the sources). */
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

/** The arguments of a command, checked against the table of commands: what is not there was not given. */
export interface Args {
  /** Options without a value: `args.flags.has("json")`. */
  readonly flags: ReadonlySet<string>;
  /** Options with a value: `args.values.get("config")`. */
  readonly values: ReadonlyMap<string, string>;
  /** What is not an option, in the order given. */
  readonly words: readonly string[];
}

/** A command: does its work and answers with the exit code. */
export type Run = (io: Io, args: Args) => Promise<number>;
