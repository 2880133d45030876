import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SystemClock } from "../../../agent/base/clock.ts";
import { bootClock, bootId } from "../../../agent/board/facts.ts";
import { readFact } from "../../../agent/board/read-fact.ts";
import { commands } from "../../../agent/cli/commands.ts";
import { dispatch } from "../../../agent/cli/dispatch.ts";
import { snapshot } from "../../../agent/status/snapshot.ts";
import { DecisionLog } from "../../../storage/decision-log.ts";
import { StateFolder } from "../../../storage/state-folder.ts";
import { HostileBroker } from "../../support/broker/hostile-broker.ts";
import { recordingIo } from "../../support/recording-io.ts";
import { api, healthy, leading, nodesWatch } from "../../support/site-status.ts";

/** Colour of ours, a title of the window, 8-bit controls, overrides, separators, half a letter, and a line of its own. */
const evil =
  "<\u001b[31m\u001b[0m\u001b[1;31m\u001b]0;owned\u0007\u001b[2J\u009b2J\u0085\u007f\b\u202e\u2066\u200e\u200f\u061c\u2028\ud800\r\nsiteward: forged\t>";

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
const steering = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]|\p{Bidi_Control}|\p{Cs}/u;
/** All that the program itself says to a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours begin with an escape
const ours = /\u001b\[(?:1;3[123]|3[123]|2|0)m|\u001b\[H\u001b\[2J/g;

const root = path.resolve(import.meta.dirname, "../../..");
let folder: string;
let server: Server;
let controlSocket: Server;
let broker: HostileBroker;
const at = (name: string): string => path.join(folder, name);

/** Each text of a status is evil, whatever it stands for, and each list has something in it. */
function hostile<T>(value: T, name = ""): T {
  if (typeof value === "string") return (kept.includes(name) ? value : `${value}${evil}`) as T;
  if (Array.isArray(value)) return value.map((item) => hostile(item)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, hostile(inner, key)])) as T;
}

/** By these a reader knows the file, or takes one of two ways. */
const kept = ["schema", "bootId", "level", "severity", "role", "state", "startedAt", "writtenAt", "since"];

function answer(url: string): { readonly status: number; readonly body: object } {
  const metadata = { name: evil, uid: evil, resourceVersion: "1", annotations: { "siteward.dev/standby": evil } };
  if (url.startsWith("/version")) return { status: 200, body: { gitVersion: evil } };
  if (url.includes("/leases/"))
    return { status: 404, body: { kind: "Status", message: evil, reason: evil, code: 404 } };
  if (url.startsWith("/api/v1/nodes?")) {
    const item = { metadata, spec: { taints: [{ key: evil, effect: "NoExecute" }] }, status: { conditions: [] } };
    return {
      status: 200,
      body: { kind: "NodeList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [item] },
    };
  }
  return {
    status: 403,
    body: { kind: "Status", message: evil, reason: evil, code: 403, details: { causes: [{ message: evil }] } },
  };
}

const json = (value: unknown): string => JSON.stringify(value);

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-hostile-"));
  for (const name of ["run", "state", "etc", "usr", "usr/lib", "var"]) mkdirSync(at(name));
  server = createServer((request, response) => {
    const { status, body } = answer(request.url ?? "");
    response.writeHead(status, { "content-type": "application/json", "x-evil": "1" }).end(json(body));
  });
  controlSocket = createServer((_, response) => {
    const result = { [evil]: evil, list: [evil] };
    response.write(`${json({ state: "running", result })}\n${evil}\n`);
    response.end(`${json({ state: "rejected", message: evil, field: evil, result })}\n`);
  });
  broker = await new HostileBroker().start();
  broker.connack = { reasonString: evil, serverReference: evil };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await new Promise<void>((resolve) => controlSocket.listen(at("run/ctl.sock"), resolve));

  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const kubeconfig = {
    clusters: [{ name: "a", cluster: { server: address } }],
    users: [{ name: "a", user: { token: "t" } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    "current-context": "a",
  };
  writeFileSync(at("kubeconfig"), json(kubeconfig), { mode: 0o600 });
  writeFileSync(at("evil-kubeconfig"), json({ ...kubeconfig, "current-context": evil }), { mode: 0o600 });
  const config = {
    apiVersion: "siteward.dev/v1",
    kind: "AgentConfiguration",
    site: { name: "s" },
    board: { name: "pi-1" },
    api: { kubeconfig: at("kubeconfig") },
    leader: { retry: "100ms", renewDeadline: "2s", duration: "4s" },
    state: { folder: at("state") },
    run: { folder: at("run") },
    mqtt: { url: broker.url, fleet: "f" },
    commands: { trust: `/nowhere/${evil}` },
  };
  writeFileSync(at("siteward.yaml"), json(config));
  writeFileSync(at("evil.yaml"), json({ ...config, [evil]: evil, log: { level: evil }, site: { name: evil } }));
  writeFileSync(at("torn.yaml"), `site: {name: "${evil}`);
  const silence = { kind: "silence", silentMs: 2, graceMs: 1, provenMs: 0, confirmedBy: evil };
  const given = { act: "board-marked", board: evil, because: silence, gate: {} };
  writeFileSync(at("case.json"), json({ id: evil, family: "decision", given, expect: { rule: evil } }));
  writeFileSync(at("evil-case.json"), json({ id: evil, family: evil, given: { ...given, [evil]: evil } }));
  writeFileSync(at("command.json"), json({ v: 1, id: evil, name: evil, [evil]: evil }));
  const parts = healthy({
    zones: [{ name: "z", state: "Normal", nodes: 2, ready: 1, rate: 0.1 }],
    problems: [{ type: "Odd", severity: "warning", message: "m", hint: "h", subject: "s" }],
    api: { ...api, error: { message: "m", hint: "h" } } as never,
    leader: leading(),
    watches: [nodesWatch()],
  });
  const now = bootClock(readFact) ?? 0;
  const mine = { bootId: bootId(readFact), pid: process.pid, writtenBootMs: now - 1500 };
  writeFileSync(at("status.json"), json({ ...hostile(snapshot(parts, undefined)), ...mine }));
  writeFileSync(at("stale.json"), json({ ...hostile(snapshot(parts, undefined)), ...mine, bootId: evil }));
  writeFileSync(at("torn.json"), `{"${evil}`);
  fillJournal();
});

/** What waits in the journal has evil names. */
function fillJournal(): void {
  const pragmas = { cacheKiB: 256, mmapMiB: 0, walAutocheckpointPages: 1000, journalSizeLimitKiB: 1024 };
  const state = StateFolder.open({ folder: at("state"), pragmas, stamp: "1" });
  const moment = { at: evil, boot: evil, mono: 1 };
  const record = {
    ...{
      v: 1,
      act: evil,
      on: { kind: "Pod", namespace: evil, name: evil, uid: evil },
      board: evil,
      leader: evil,
      by: evil,
    },
    ...{ term: 1, state: "failed", because: { kind: evil }, first: moment, last: moment, failures: 1, error: evil },
    restraints: [{ why: "freeze", scope: evil, target: evil, by: evil, reason: evil, leftMs: 1, since: moment }],
  };
  new DecisionLog(state.state.database, { rows: 10, bytes: 100_000 }).write([
    { id: undefined, subject: "pod/default/web", board: evil, text: json(record) },
    { id: undefined, subject: "pod/default/shadow", board: evil, text: json({ ...record, shadow: true }) },
  ]);
  state.close();
  const database = new Sqlite(at("state/cache.db"), { timeout: 100 });
  database.prepare("INSERT INTO resources (id, name) VALUES (1, ?)").run(evil);
  database.prepare("INSERT INTO journal VALUES (1, 1, ?, ?, ?, ?, '{}')").run(evil, evil, evil, evil);
  database.close();
}

afterAll(() => {
  server.closeAllConnections();
  server.close();
  controlSocket.close();
  broker.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** How each command is run; `shows`: something evil is among what it prints, so that this test looks at something. */
interface Line {
  readonly argv: () => readonly string[];
  readonly shows: boolean;
}

const shown = (...words: readonly (string | (() => string))[]): Line => ({
  argv: () => words.map((word) => (typeof word === "string" ? word : word())),
  shows: true,
});
const quiet = (...words: readonly (string | (() => string))[]): Line => ({ ...shown(...words), shows: false });
const config = ["--config", () => at("siteward.yaml")] as const;
const evilConfig = ["--config", () => at("evil.yaml")] as const;
const socket = ["--socket", () => at("run/ctl.sock"), "--reason", "r"] as const;

const lines: Readonly<Record<string, readonly Line[]>> = {
  run: [shown(...evilConfig), quiet("--config", () => at("torn.yaml")), shown("--config", () => at(evil))],
  up: [shown("--boards", evil), shown("--scenario", evil)],
  status: [
    shown("--file", () => at("status.json")),
    shown("--file", () => at("status.json"), "--short"),
    shown("--file", () => at("status.json"), "--json"),
    shown("--file", () => at("status.json"), "--watch", "1"),
    shown("--file", () => at("status.json"), "--wait", "ready", "--timeout", "1"),
    shown("--file", () => at("stale.json")),
    quiet("--file", () => at("torn.json")),
    shown("--file", () => at(evil)),
  ],
  "config show": [quiet(...config), shown(...config, "--json"), shown(...evilConfig)],
  "config check": [shown(() => at("evil.yaml")), quiet(() => at("torn.yaml"))],
  "config explain": [shown(evil), shown("commands.trust", ...config)],
  "config reference": [quiet()],
  "config schema": [quiet()],
  "config example": [quiet()],
  "config rollback": [shown(...socket), quiet("--to", evil, ...socket)],
  harden: [shown(...evilConfig)],
  "profile list": [quiet()],
  "profile detect": [quiet(), quiet("--json")],
  "profile show": [shown(evil)],
  "profile apply": [shown(evil)],
  "broker-acl": [shown("--fleet", "f", "--operators", evil, "s/b"), shown("--fleet", "f", evil)],
  inventory: [quiet(), quiet("--json")],
  version: [quiet(), quiet("--json")],
  completion: [shown(evil), quiet("bash")],
  man: [quiet()],
  help: [shown(evil)],
  enroll: [
    shown(
      "--kubeconfig",
      () => at("evil-kubeconfig"),
      "--root",
      () => folder,
      "--dry-run",
    ),
    quiet(
      "--kubeconfig",
      () => at("kubeconfig"),
      "--root",
      () => folder,
      "--dry-run",
      "--board",
      evil,
    ),
    shown("--server", "https://127.0.0.1:1", "--token-file", () => at(evil)),
  ],
  doctor: [shown(...config), shown(...config, "--json"), shown(...evilConfig), shown("--only", evil)],
  release: [shown(...config, "--dry-run"), shown(...evilConfig, "--dry-run")],
  "diag collect": [quiet(...config, "--offline", "-o", () => at("archive.tar.gz"))],
  "journal stats": [quiet(...config), quiet(...config, "--json"), shown(...evilConfig)],
  "journal tail": [shown(...config), shown(...config, "--json"), shown(...evilConfig)],
  "journal verify": [shown(...evilConfig)],
  "journal compact": [shown(...evilConfig)],
  "shadow report": [
    shown(...config, "--socket", () => at("none.sock")),
    shown("--json", ...config, "--socket", () => at("none.sock")),
    quiet("--since", evil, ...config),
  ],
  why: [
    shown("last", ...config, "--socket", () => at("run/ctl.sock")),
    quiet(`node/${evil}`, ...config),
    shown("pod/default/web", ...config, "--socket", () => at("none.sock")),
    shown("pod/default/web", "--json", ...config, "--socket", () => at("none.sock")),
    shown("last", ...evilConfig, "--socket", () => at("none.sock")),
    quiet(
      "last",
      "--export",
      () => at("exported.json"),
      ...config,
      "--socket",
      () => at("none.sock"),
    ),
  ],
  replay: [shown(() => at("case.json")), shown(() => at("evil-case.json")), shown(() => at(evil))],
  cmd: [
    shown("eviction.thaw", "{}", ...socket),
    shown("eviction.thaw", "{}", "--json", ...socket),
    shown(evil, "{}", ...socket),
    shown("eviction.thaw", evil, ...socket),
    shown("--schema", evil),
  ],
  keygen: [shown("--dir", () => at(evil), "k"), quiet(evil)],
  sign: [
    shown(
      "--key",
      () => at(evil),
      "--topic",
      "sw1/f/s/b/cmd/n/i",
      () => at("command.json"),
    ),
    quiet(
      "--key",
      () => at("command.json"),
      "--topic",
      "sw1/f/s/b/cmd/n/i",
      () => at("command.json"),
    ),
  ],
};

/** A line of arguments, and what each stream got. */
async function played(name: string, { argv }: Line, env: Readonly<Record<string, string>>) {
  const home = root;
  const all = { PATH: "/usr/bin:/bin", SITEWARD_RUN_FOLDER: at("run"), ...env };
  const io = recordingIo({ isTTY: true, env: all, home, clock: new SystemClock() });
  const late = setTimeout(() => io.stop.abort(), 2500);
  const words = [...name.split(" "), ...argv()];
  await dispatch(io, words);
  clearTimeout(late);
  return { out: io.out(), err: io.err() };
}

test("every command is in this table", () => {
  expect(Object.keys(lines).sort()).toEqual(commands.map(({ name }) => name).sort());
});

describe.each([
  ["with colour", {}],
  ["with NO_COLOR", { NO_COLOR: "1" }],
])("no byte from outside controls the terminal, %s", (_, env: Readonly<Record<string, string>>) => {
  const all = Object.entries(lines).flatMap(([name, each]) =>
    each.map((line, at) => [`${name} (${at + 1})`, name, line] as const),
  );
  test.concurrent.each(all)("%s", { timeout: 30_000 }, async (_, name, line) => {
    const { out, err } = await played(name, line, env);
    const written = out + err;
    const rest = written.replace(ours, "");
    expect(rest.match(steering)?.[0]).toBeUndefined();
    if (env.NO_COLOR) expect(written.replaceAll("\u001b[H\u001b[2J", "")).not.toContain("\u001b");
    // Whatever is ours stands beside the evil text, never within.
    expect(written.match(/<[^<>\n]*>/g)?.filter((text) => text.includes("\u001b")) ?? []).toEqual([]);
    expect(written).not.toMatch(/^siteward: forged/m);
    if (line.shows) expect(written).toContain("forged");
  });
});

test("for programs, an answer in JSON reads the same as before", async () => {
  const file = at("status.json");
  const { out } = await played("status", shown("--file", file, "--json"), {});
  expect(JSON.parse(out).health.conditions[0].message).toContain(evil);
});
