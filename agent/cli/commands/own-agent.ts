import { join } from "node:path";
import { exit } from "../../base/exit-codes.ts";
import type { Args, Io } from "../../base/io.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { SocketError } from "../../commands/operator-api/control-client.ts";
import { runFolder } from "../../process/load-config.ts";

export interface Order {
  readonly name: string;
  readonly args: JsonRecord;
}

/** The socket of the agent on this board. */
export const socketOf = (io: Io, values: Args["values"]): string =>
  values.get("socket") ?? join(runFolder(io), "ctl.sock");

/** A command of this user to the agent on this board. Under sudo the agent sees root; sudo's own log names the user. */
export const localEnvelope = (io: Io, { name, args }: Order) => ({
  ...{ v: 1, id: io.random.uuid(), name, args },
  by: `local:${process.getuid?.() ?? 0}`,
});

/** Reports that the agent could not be reached, and returns the exit code. */
export function reportSocketError(io: Io, error: SocketError): number {
  io.stderr.line(`siteward: ${error.message}`);
  io.stderr.line(`  ${error.hint}`);
  return error.isForbidden ? exit.permission : exit.unavailable;
}
