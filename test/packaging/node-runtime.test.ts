import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { verify } from "../../packaging/node-runtime.ts";

test("a fetched runtime that differs from the pinned one is refused", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "siteward-runtime-"));
  try {
    const file = path.join(dir, "node.tgz");
    writeFileSync(file, "what the lock file means");
    const integrity = `sha512-${createHash("sha512").update("what the lock file means").digest("base64")}`;
    expect(() => verify(file, integrity)).not.toThrow();
    writeFileSync(file, "another file");
    expect(() => verify(file, integrity)).toThrow(/node\.tgz does not match package-lock\.json: sha512-/);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
