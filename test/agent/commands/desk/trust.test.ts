import { generateKeyPairSync } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fits } from "../../../../agent/commands/desk/command-pattern.ts";
import { isDisabled, readPolicy } from "../../../../agent/commands/desk/policy.ts";
import { isSignatureOf, newKeyPair, readPublicKey, signatureOf } from "../../../../agent/commands/desk/signature.ts";
import { forbids, readTrust, trustReader } from "../../../../agent/commands/desk/trust.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-trust-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const put = (name: string, text: string): string => {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
};

test("a signature is valid only for its bytes, its topic and its key, and only in one encoding", () => {
  const [ours, theirs] = [newKeyPair(), newKeyPair()];
  const payload = Buffer.from('{"v":1}');
  const sig = signatureOf("sw1/a/b/c/cmd/ping/1", payload, ours.privateKey);
  const key = readPublicKey(ours.publicKey);
  expect(isSignatureOf(sig, "sw1/a/b/c/cmd/ping/1", payload, key)).toBe(true);
  expect(isSignatureOf(sig, "sw1/a/b/d/cmd/ping/1", payload, key)).toBe(false);
  expect(isSignatureOf(sig, "sw1/a/b/c/cmd/ping/1", Buffer.from('{"v":1} '), key)).toBe(false);
  expect(isSignatureOf(sig, "sw1/a/b/c/cmd/ping/1", payload, readPublicKey(theirs.publicKey))).toBe(false);
  for (const other of [
    "",
    "=",
    `${sig}=`,
    `${sig} `,
    sig.slice(0, -1),
    `${sig}A`,
    "ü".repeat(43),
    Buffer.from(sig, "base64url").toString("base64"),
  ]) {
    expect(isSignatureOf(other, "sw1/a/b/c/cmd/ping/1", payload, key), other).toBe(other === sig);
  }
});

test("without a folder, or without keys in it, no keys are installed", () => {
  expect(readTrust(path.join(folder, "none"))).toMatchObject({ isInstalled: false, problems: [] });
  put("README", "no key");
  expect(readTrust(folder)).toMatchObject({ isInstalled: false });
});

test("in a flood of documents the keys are read once a second, so a new key takes effect within a second", async () => {
  const clock = new FakeClock();
  const trust = trustReader(clock, folder);
  const first = trust();
  put("alice.pub", newKeyPair().publicKey);
  await clock.advance("999ms");
  expect(trust()).toBe(first);
  await clock.advance("1ms");
  expect([...trust().keys.keys()]).toEqual(["alice"]);
  rmSync(path.join(folder, "alice.pub"));
  await clock.advance("1s");
  expect(trust().isInstalled).toBe(false);
});

test("a key has the name of its file and may sign every command, unless a file with its name limits it", () => {
  put("alice.pub", newKeyPair().publicKey);
  put("bob.pub", newKeyPair().publicKey);
  put("bob.yaml", 'commands: ["eviction.*", "ping"]\nscopes: [site]\nnot_after: 2027-01-01T00:00:00Z\n');
  const { keys, problems, isInstalled } = readTrust(folder);
  expect([isInstalled, problems, [...keys.keys()]]).toEqual([true, [], ["alice", "bob"]]);
  const [alice, bob] = [keys.get("alice"), keys.get("bob")];
  if (!alice || !bob) throw new Error("not read");
  const [before, after] = [Date.parse("2026-12-31T23:59:59Z"), Date.parse("2027-01-01T00:00:01Z")];
  expect(forbids(alice, "board.drain", "board", after)).toBeUndefined();
  expect(forbids(bob, "eviction.freeze", "site", before)).toBeUndefined();
  expect(forbids(bob, "evictions", "site", before)).toBeDefined();
  expect(forbids(bob, "eviction.freeze", "board", before)).toContain("scope board");
  expect(forbids(bob, "leader.step-down", "site", before)).toBeDefined();
  expect(forbids(bob, "eviction.freeze", "site", after)).toContain("expired");
});

test.each([
  ["no key", "hello"],
  ["a private key", newKeyPair().privateKey],
  [
    "a key of another kind",
    generateKeyPairSync("ec", {
      namedCurve: "P-256",
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    }).publicKey,
  ],
])("a file with %s is a problem, and unsigned commands are nevertheless refused from then on", (_, text) => {
  put("ops.pub", text);
  const trust = readTrust(folder);
  expect(trust).toMatchObject({ isInstalled: true });
  expect([trust.keys.size, trust.problems.length]).toEqual([0, 1]);
});

test.each([
  ["a misspelt limit", "command: [ping]\n"],
  ["an unknown scope", "scopes: [everywhere]\n"],
  ["an invalid time", "not_after: 2027-99-99\n"],
  ["an end on a day that does not exist", "not_after: 2027-02-30\n"],
  ["broken YAML", "commands: [ping\n"],
  ["nothing", ""],
])("a key whose limits file has %s may not sign anything", (_, text) => {
  put("ops.pub", newKeyPair().publicKey);
  put("ops.yaml", text);
  const { keys, problems, isInstalled } = readTrust(folder);
  expect([isInstalled, keys.size, problems.length]).toEqual([true, 0, 1]);
});

test("patterns are whole names or prefixes of names", () => {
  expect(fits("*", "ping")).toBe(true);
  expect(fits("board.*", "board.drain")).toBe(true);
  expect(fits("board.*", "boards.drain")).toBe(false);
  expect(fits("board", "board.drain")).toBe(false);
});

test("the policy of a board disables commands and names hosts; without one everything is allowed", () => {
  const text =
    'apiVersion: siteward.dev/v1\nkind: CommandPolicy\ndisabled: ["board.*"]\ndiagnostics:\n  uploadHosts: ["files.example.org:8443"]\n';
  const policy = readPolicy(put("policy.yaml", text));
  expect(policy).toMatchObject({ problem: undefined, uploadHosts: ["files.example.org:8443"] });
  expect([isDisabled(policy, "board.drain"), isDisabled(policy, "ping")]).toEqual([true, false]);
  expect(readPolicy(path.join(folder, "none.yaml"))).toMatchObject({ problem: undefined, disabled: [] });
});

test.each([
  ["an unknown key", "apiVersion: siteward.dev/v1\nkind: CommandPolicy\nallow: [ping]\n"],
  ["another kind", "apiVersion: siteward.dev/v1\nkind: AgentConfiguration\n"],
  ["an empty file", ""],
  ["broken YAML", "disabled: ["],
])("a policy with %s is a problem, and permits nothing", (_, text) => {
  expect(readPolicy(put("policy.yaml", text)).problem).toContain("policy.yaml");
});

test.skipIf(process.getuid?.() === 0)("a policy without read permission does not count as absent", () => {
  const file = put("policy.yaml", "");
  chmodSync(file, 0);
  expect(readPolicy(file).problem).toContain("no permission");
});
if (process.getuid?.() === 0) console.info("run as root: that files without permission are refused cannot be tried");
