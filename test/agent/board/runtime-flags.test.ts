import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { nodeEnvironment, nodeFlags } from "../../../agent/board/runtime-flags.ts";

test("the service starts Node as the program says that it wants to be started", () => {
  const unit = readFileSync(path.resolve(import.meta.dirname, "../../../systemd/siteward.service"), "utf8");
  const start = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? "";
  expect(start.split(" ").filter((word) => word.startsWith("--"))).toEqual(nodeFlags);
  for (const [name, value] of Object.entries(nodeEnvironment)) expect(unit).toContain(`${name}=${value}`);
});
