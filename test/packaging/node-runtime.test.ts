import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { verify } from "../../packaging/node-runtime.ts";

test("a fetched runtime that is not the pinned one goes into no package", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "siteward-runtime-"));
  try {
    const file = path.join(dir, "node.tgz");
    writeFileSync(file, "what the lock file means");
    const integrity = `sha512-${createHash("sha512").update("what the lock file means").digest("base64")}`;
    expect(() => verify(file, integrity)).not.toThrow();
    writeFileSync(file, "what somebody put in its place");
    expect(() => verify(file, integrity)).toThrow(/node\.tgz is not what package-lock\.json names: sha512-/);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
