import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { SystemClock } from "../../../agent/base/clock.ts";
import { runChild } from "../../../agent/board/child.ts";
import { inventoryFrom, inventorySchema } from "../../../agent/board/inventory.ts";

const whole = {
  schema: inventorySchema,
  system: { manufacturer: "Raspberry Pi Foundation", model: "4 Model B", serial: "10000000e3b0c442" },
  os: { distro: "Debian GNU/Linux", release: "12", kernel: "6.12.1", arch: "arm64" },
  cpu: { brand: "BCM2711", cores: 4, speedMHz: 1800 },
  memoryBytes: 1_970_368_512,
  disks: [{ device: "/dev/mmcblk0", kind: "SD", name: "SD32G", bytes: 31_914_983_424 }],
};

test("the child's output is read member by member", () => {
  const { schema: _, ...inventory } = whole;
  expect(inventoryFrom(JSON.stringify(whole))).toEqual(inventory);
});

test.each([
  ["nothing", ""],
  ["text that is not JSON", "Segmentation fault"],
  ["a list", "[]"],
  ["another schema", JSON.stringify({ ...whole, schema: "siteward.inventory/9" })],
])("%s is not an inventory", (_, output) => {
  expect(inventoryFrom(output)).toBeUndefined();
});

test("missing fields are left empty; malformed ones are truncated and kept on one line", () => {
  const odd = {
    ...whole,
    system: { manufacturer: "a\nb\u001b[31m", model: 7, serial: "x".repeat(500) },
    os: null,
    cpu: { cores: -1, speedMHz: Number.NaN, brand: "\u{1f4a3}" },
    disks: [...Array.from({ length: 40 }, () => ({ device: "/dev/sda" })), "huh"],
  };
  const found = inventoryFrom(JSON.stringify(odd));
  expect(found?.system.manufacturer).toBe("a b [31m");
  expect(found?.system.model).toBe("");
  expect(found?.system.serial).toHaveLength(100);
  expect(found?.os).toEqual({ distro: "", release: "", kernel: "", arch: "" });
  expect(found?.cpu).toEqual({ brand: "", cores: 0, speedMHz: 0 });
  expect(found?.disks).toHaveLength(16);
});

const options = (patience: number, longest = 1000) => ({
  patience,
  longest,
  clock: new SystemClock(),
  signal: new AbortController().signal,
});

test("a child that hangs is killed with its descendants; endless output, a missing program and a failure are reported", async () => {
  const began = Date.now();
  expect(await runChild("sh", ["-c", "sleep 60 & sleep 60"], options(200))).toEqual({
    failed: "it did not end within 0.2 s",
  });
  expect(Date.now() - began).toBeLessThan(5000);
  expect(await runChild("yes", [], options(10_000))).toEqual({ failed: "its output is too long" });
  expect(await runChild("/nowhere/at-all", [], options(1000))).toMatchObject({
    failed: expect.stringContaining("ENOENT"),
  });
  expect(await runChild("sh", ["-c", "exit 3"], options(5000))).toEqual({ failed: "it ended with status 3" });
  expect(await runChild("echo", ["hello"], options(5000))).toEqual({ output: "hello\n" });
});

test("a child process is stopped when the agent stops", async () => {
  const stop = new AbortController();
  const running = runChild("sleep", ["60"], { ...options(60_000), signal: stop.signal });
  stop.abort();
  expect(await running).toEqual({ failed: "stopped" });
});

test("the agent never loads systeminformation; only the child's command does, when it runs", () => {
  const root = path.resolve(import.meta.dirname, "../../../agent");
  const users = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .filter((file) => /(from|import\() ?"systeminformation"/.test(readFileSync(path.join(root, file), "utf8")));
  expect(users).toEqual(["cli/commands/inventory.ts"]);
  expect(readFileSync(path.join(root, "cli/commands/inventory.ts"), "utf8")).toContain(
    'await import("systeminformation")',
  );
});
