import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readCredentialFile } from "../../../../agent/client/credentials/credential-file.ts";

const folder = mkdtempSync(join(tmpdir(), "siteward-credential-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "kubeconfig");

test("a file is read whole up to a megabyte, regardless of the size it reports", async () => {
  for (const length of [0, 1, 16_384, 16_385, 1_048_574]) {
    const text = `ä${"x".repeat(length)}`;
    writeFileSync(file, text);
    expect(await readCredentialFile(file, "kubeconfig")).toBe(text);
  }
  // Of size 0, as pipes are.
  expect(await readCredentialFile("/proc/self/status", "token file")).toMatch(/^Name:/);
});

test("a larger file is refused, and so is an endless one", async () => {
  writeFileSync(file, "");
  truncateSync(file, 100_000_000_000);
  await expect(readCredentialFile(file, "kubeconfig")).rejects.toThrow(
    `kubeconfig ${file} is larger than 1048576 bytes`,
  );
  await expect(readCredentialFile("/dev/zero", "token file")).rejects.toThrow(
    "token file /dev/zero is larger than 1048576 bytes",
  );
});

test("a folder is reported as such", async () => {
  await expect(readCredentialFile(folder, "token file")).rejects.toThrow(`token file ${folder} is a folder`);
});
