import manifest from "../../package.json" with { type: "json" };
import { exit } from "../base/exit-codes.ts";
import type { Args, Io } from "../base/io.ts";

export const { version } = manifest;

export async function run(io: Io, { flags }: Args): Promise<number> {
  const { node, v8 } = process.versions;
  const versions = { siteward: version, node, v8, platform: `${process.platform}-${process.arch}` };
  if (flags.has("json")) io.stdout.json(versions);
  else io.stdout.line(`siteward ${version} (Node ${node})`);
  return exit.ok;
}
