import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newKeyPair, signatureOf } from "../../../../agent/commands/desk/signature.ts";
import { unsignedSettings } from "../../../../agent/commands/desk/signed-settings.ts";
import { readTrust } from "../../../../agent/commands/desk/trust.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-trust-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const topic = "sw1/acme/plant7/pi-1/config/desired";
const payload = Buffer.from('{"v":1,"version":1,"config":{}}');
const now = Date.parse("2026-11-20T12:00:00Z");

test("settings need a signature only if a key is installed, even an unreadable one", () => {
  expect(unsignedSettings({ topic, payload }, readTrust(folder), now)).toBeUndefined();
  writeFileSync(path.join(folder, "ops.pub"), "no key");
  expect(unsignedSettings({ topic, payload }, readTrust(folder), now)).toMatchObject({ code: "signature-missing" });
});

test("the limits of a key apply to settings as they do to commands", () => {
  const { publicKey, privateKey } = newKeyPair();
  writeFileSync(path.join(folder, "ops.pub"), publicKey);
  const signature = { kid: "ops", sig: signatureOf(topic, payload, privateKey) };
  const codeWith = (limits: string): string | undefined => {
    writeFileSync(path.join(folder, "ops.yaml"), limits);
    return unsignedSettings({ topic, payload, signature }, readTrust(folder), now)?.code;
  };
  expect(codeWith("{}")).toBeUndefined();
  expect(codeWith('commands: ["config.*"]\nscopes: [board]')).toBeUndefined();
  expect(codeWith('commands: ["eviction.*"]')).toBe("forbidden");
  expect(codeWith("scopes: [site]")).toBe("forbidden");
  expect(codeWith("not_after: 2026-11-19")).toBe("forbidden");
  expect(codeWith("commands: 7")).toBe("signature-unknown-key");
});
