import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { nodeEnvironment, nodeFlags } from "../../../agent/board/runtime-flags.ts";

const shipped = (name: string): string =>
  readFileSync(path.resolve(import.meta.dirname, "../../../systemd", name), "utf8");

/** The last one counts; an empty one before it takes those of the unit away. */
const startOf = (text: string): readonly string[] =>
  [...text.matchAll(/^ExecStart=(.+)$/gm)].at(-1)?.[1]?.split(" ") ?? [];

test("the service starts Node as the program says that it wants to be started", () => {
  const unit = shipped("siteward.service");
  expect(startOf(unit).filter((word) => word.startsWith("--"))).toEqual(nodeFlags);
  for (const [name, value] of Object.entries(nodeEnvironment)) expect(unit).toContain(`${name}=${value}`);
});

test.each(["20-openfile", "20-systemd-notify"])(
  "without perl (%s) it is started the same, only not by the launcher",
  (name) => {
    const launched = startOf(shipped("siteward.service"));
    expect(launched.slice(0, 2)).toEqual(["/usr/bin/perl", "/usr/lib/siteward/launch.pl"]);
    expect(startOf(shipped(`drop-ins/${name}.conf`))).toEqual(launched.slice(2));
    expect(shipped(`drop-ins/${name}.conf`)).toMatch(/^ExecStart=$/m);
  },
);
