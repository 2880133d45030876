import { exit } from "../../base/exit-codes.ts";
import type { Run } from "../../base/io.ts";
import type { JsonRecord } from "../../base/json.ts";
import { give } from "./send-command.ts";

/** `siteward config rollback`: sends config.rollback to the agent on this board. */
export const rollback: Run = async (io, args) => {
  const to = args.values.get("to");
  const isNumber = to === undefined || /^(0|[1-9][0-9]{0,14})$/.test(to);
  if (!isNumber) {
    io.stderr.line(`siteward: config rollback: --to takes a version number, or 0 for no fleet settings`);
    return exit.usage;
  }
  const order = { name: "config.rollback", args: to === undefined ? {} : { toVersion: Number(to) } };
  return await give(io, args, order, (result) => sentence(result, args.flags.has("dry-run")));
};

function sentence({ version, desiredVersion }: JsonRecord, isRehearsal: boolean): string {
  const what = version === 0 ? "this board's own files alone" : `version ${version} of the fleet settings`;
  const when = isRehearsal ? "would be in force" : "will be in force in a moment";
  return `${what} ${when}; this board will accept the next fleet version after ${desiredVersion}`;
}
