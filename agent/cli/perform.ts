import { ConfigError, hintOf, isForbidden, sentenceOf } from "../base/errors.ts";
import { exit } from "../base/exit-codes.ts";
import type { Args, Io } from "../base/io.ts";
import type { Command } from "./command.ts";

/** Loads and runs a command, and returns its exit code. Prints an expected error as one line with its hint. */
export async function perform(io: Io, command: Command, args: Args): Promise<number> {
  const run = await command.load();
  try {
    return await run(io, args);
  } catch (error) {
    if (error instanceof ConfigError) {
      for (const problem of error.problems) io.stderr.line(`siteward: ${problem}`);
      return exit.config;
    }
    const { name, exits } = command;
    if (exits.includes(exit.permission) && isForbidden(error)) {
      io.stderr.line(`siteward: ${name}: ${shortReason(error)}; only root may do this: sudo siteward ${name}`);
      return exit.permission;
    }
    // Errors with a disposition are expected and have a readable message; all others are bugs.
    if (!(error instanceof Error && "disposition" in error)) throw error;
    const hint = hintOf(error);
    io.stderr.line(`siteward: ${sentenceOf(error)}`);
    if (hint !== undefined) io.stderr.line(`  ${hint}`);
    return exit.failed;
  }
}

/** The error's message; a system error within it ("EACCES: …") is reduced to the path. */
const shortReason = (error: unknown): string =>
  sentenceOf(error).replace(/\bE(ACCES|PERM): [\w ]+, \w+ '([^']*)'.*/, "no permission for $2");
