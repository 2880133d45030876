import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ExecPlugin } from "../../../../agent/client/credentials/exec-credential.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const folder = mkdtempSync(join(tmpdir(), "siteward-plugin-"));
afterAll(() => rmSync(folder, { recursive: true }));
let plugins = 0;

const version = "client.authentication.k8s.io/v1";
const credential = (status: unknown, more: object = {}) =>
  JSON.stringify({ kind: "ExecCredential", apiVersion: version, status, ...more });

/** A plugin that is this shell script; `said` is what it wrote into its notes. */
function plugin(script: string, exec: Record<string, unknown> = {}, clock = new FakeClock("2026-01-01T00:00:00Z")) {
  const name = `plugin-${plugins++}`;
  const file = join(folder, name);
  const notes = `${file}.notes`;
  writeFileSync(file, `#!/bin/sh\nnotes='${notes}'\n${script}\n`);
  chmodSync(file, 0o700);
  const spec = { apiVersion: version, command: `./${name}`, interactiveMode: "Never", ...exec };
  const options = {
    where: 'user "agent"',
    file: join(folder, "config"),
    exec: spec,
    environment: { PATH: process.env.PATH, INHERITED: "yes" },
    cluster: { server: "https://10.0.0.1:6443" },
  };
  return {
    clock,
    make: () => new ExecPlugin(clock, options),
    notes: () => (existsSync(notes) ? readFileSync(notes, "utf8").trim().split("\n") : []),
  };
}

const answering = (text: string): string => `echo run >> "$notes"\ncat <<'END'\n${text}\nEND`;

test("a plugin runs once while its credential is valid, and again once that has expired", async () => {
  const script = answering(credential({ token: "t", expirationTimestamp: "2026-01-01T01:00:00Z" }));
  const { make, notes, clock } = plugin(script);
  const runner = make();
  const both = await Promise.all([runner.credential(), runner.credential()]);
  expect(both.map(({ token }) => token)).toEqual(["t", "t"]);
  await clock.advance("59m");
  await runner.credential();
  expect(notes()).toEqual(["run"]);
  await clock.advance("1m");
  await runner.credential();
  expect(notes()).toEqual(["run", "run"]);
});

test("a credential without an expiry is kept until it is refused", async () => {
  const { make, notes, clock } = plugin(answering(credential({ token: "t" })));
  const runner = make();
  await runner.credential();
  await clock.advance("1000h");
  await runner.credential();
  expect(notes()).toHaveLength(1);
  runner.forget();
  await runner.credential();
  expect(notes()).toHaveLength(2);
});

test("a clock that is decades ahead does not make the plugin run in a loop", async () => {
  const script = answering(credential({ token: "t", expirationTimestamp: "2026-01-01T01:00:00Z" }));
  const { make, notes, clock } = plugin(script, {}, new FakeClock("2060-01-01T00:00:00Z"));
  const runner = make();
  for (let i = 0; i < 5; i++) await runner.credential();
  expect(notes()).toHaveLength(1);
  await clock.advance("10s");
  await runner.credential();
  expect(notes()).toHaveLength(2);
});

test("a plugin receives its own variables, the agent's, and the cluster if it requests it", async () => {
  const script = `printf '%s\\n' "$1 $2" "$OWN" "$INHERITED" "$KUBERNETES_EXEC_INFO" > "$notes"\n${answering(credential({ token: "t" }))}`;
  const exec = { args: ["get", "token now"], env: [{ name: "OWN", value: "a b" }], provideClusterInfo: true };
  const { make, notes } = plugin(script, exec);
  await make().credential();
  const [args, own, inherited, info] = notes();
  expect([args, own, inherited]).toEqual(["get token now", "a b", "yes"]);
  expect(JSON.parse(info ?? "")).toEqual({
    apiVersion: version,
    kind: "ExecCredential",
    spec: { interactive: false, cluster: { server: "https://10.0.0.1:6443" } },
  });
});

test("v1beta1 is supported too, and a line end after the token does no harm", async () => {
  const beta = "client.authentication.k8s.io/v1beta1";
  const { make } = plugin(answering(credential({ token: "t\n" }, { apiVersion: beta })), { apiVersion: beta });
  expect(await make().credential()).toEqual({ token: "t", certificate: undefined, key: undefined });
});

test.each([
  ["text that is not JSON", "echo hello", "did not return JSON"],
  ["another document", "echo '{}'", "did not return an ExecCredential"],
  [
    "another version",
    answering(credential({ token: "t" }, { apiVersion: "x/v1" })),
    `did not return the apiVersion ${version}`,
  ],
  ["no status", answering(credential(undefined)), "returned no credentials"],
  ["an empty status", answering(credential({})), "returned neither a token nor a certificate"],
  ["a token that is a number", answering(credential({ token: 5 })), "returned a token that is not a string"],
  ["a token of two lines", answering(credential({ token: "a\nb" })), "its token contains a line break"],
  [
    "half a certificate",
    answering(credential({ clientCertificateData: "x" })),
    "returned a client certificate or a key, but not both",
  ],
  [
    "an invalid time",
    answering(credential({ token: "t", expirationTimestamp: "soon" })),
    "returned an invalid expirationTimestamp",
  ],
  ["a failure", "echo 'please log in' >&2; exit 3", "ended with status 3 (please log in)"],
  ["a crash", "kill -9 $$", "ended with SIGKILL"],
])("a plugin that answers %s is reported in one line", async (_, script, sentence) => {
  const { make } = plugin(script);
  await expect(make().credential()).rejects.toMatchObject({
    name: "CredentialsError",
    message: expect.stringMatching(/^user "agent": the credential plugin .*plugin-\d+[ :]/),
    hint: expect.stringMatching(/by hand|Copy the token again/),
  });
  await expect(make().credential()).rejects.toThrow(sentence);
});

test.each([
  ["a password in a sentence", "echo 'the password CANARYf was refused' >&2", "(the password [redacted] was refused)"],
  ["a field", "echo 'cannot renew: refresh_key=CANARYf' >&2", "(cannot renew: refresh_key=[redacted])"],
  ["a signed address", "echo 'GET https://h/x?v=1&sig=CANARYf: 403' >&2", "(GET https://h/x?v=1&sig=[redacted] 403)"],
  ["a user's address", "echo 'https://u:CANARYf@h refuses' >&2", "(https://[redacted]@h refuses)"],
  ["its environment", 'echo "refused: $KEY" >&2', "(refused: [redacted])"],
  ["a secret at the point where the message is cut", `printf '%290s https://u:CANARYf@h' . >&2`, "https://"],
])("a failed plugin's message is shown without the secret in it: %s", async (_, script, shown) => {
  const { make } = plugin(`${script}; exit 3`, { env: [{ name: "KEY", value: "CANARYf-5e1f" }] });
  const failed = make().credential();
  await expect(failed).rejects.toThrow(shown);
  await expect(failed).rejects.not.toThrow("CANARY");
});

test("a plugin with endless output is stopped", async () => {
  const { make } = plugin("yes 0123456789012345678901234567890123456789");
  await expect(make().credential()).rejects.toThrow("returned more than 1 MiB");
});

test("a plugin that hangs is stopped after a minute", async () => {
  const { make, clock } = plugin("exec sleep 1000");
  const failed = make()
    .credential()
    .catch((error: Error) => error.message);
  await clock.advance("60s");
  expect(await failed).toContain("did not end within 60s");
});

test("a plugin that is not installed is reported with the way to get it", async () => {
  const { make } = plugin("", { command: "no-such-plugin-here", installHint: "Get it from the vendor." });
  await expect(make().credential()).rejects.toMatchObject({
    message: 'user "agent": the credential plugin no-such-plugin-here is not installed',
    hint: "Get it from the vendor.",
  });
});

test.each([
  [{ apiVersion: "client.authentication.k8s.io/v1alpha1" }, "exec has an unknown apiVersion"],
  [{ command: "" }, "exec has no command"],
  [{ interactiveMode: "Always" }, "exec requires interactive input"],
  [{ args: [1] }, "exec.args is not a list of strings"],
  [{ env: { A: "b" } }, "exec.env is not a list of names and values"],
])("a misconfigured plugin is reported before it runs: %j", (exec, sentence) => {
  expect(plugin("", exec).make).toThrow(sentence);
});
