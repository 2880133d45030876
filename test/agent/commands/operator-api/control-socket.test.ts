import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Clock, SystemClock } from "../../../../agent/base/clock.ts";
import type { JsonRecord } from "../../../../agent/base/json.ts";
import { giveCommand, SocketError } from "../../../../agent/commands/operator-api/control-client.ts";
import { ControlSocket } from "../../../../agent/commands/operator-api/control-socket.ts";
import { CommandBoard } from "../../../support/command-desk.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

let folder: string;
let file: string;
let board: CommandBoard;
let log: RecordingLog;
let stop: AbortController;
let running: Promise<void>;
/** A clock on which nothing takes long. */
let hurried: Clock | undefined;
const world: { stuck: string[]; missing: string[]; status: JsonRecord | undefined } = {
  stuck: [],
  missing: [],
  status: undefined,
};

const start = (): void => {
  const ambient = { clock: hurried ?? new SystemClock(), random: new SeededRandom(), log };
  stop = new AbortController();
  const socket = new ControlSocket(ambient, {
    file,
    desk: board.start(),
    stuck: () => world.stuck,
    missing: () => world.missing,
    status: () => world.status,
    metrics: () => "siteward_up 1\n",
  });
  running = socket.run(stop.signal);
};

const end = async (): Promise<void> => {
  stop.abort(new Error("stopped"));
  await running;
};

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-ctl-"));
  file = path.join(folder, "ctl.sock");
  board = new CommandBoard();
  log = new RecordingLog();
  hurried = undefined;
  Object.assign(world, { stuck: [], missing: [], status: { health: "ok" } });
  start();
  await expect.poll(() => existsSync(file)).toBe(true);
});

afterEach(async () => {
  await end();
  rmSync(folder, { recursive: true, force: true });
});

interface Got {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

const ask = (method: string, where: string, body?: string): Promise<Got> =>
  new Promise((resolve, reject) => {
    const asked = request({ socketPath: file, path: where, method, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("end", () =>
        resolve({ status: response.statusCode, type: response.headers["content-type"], body: text }),
      );
    });
    asked.once("error", reject);
    asked.end(body);
  });

/** What comes back for bytes as they are. */
async function raw(bytes: string | Buffer, half = false): Promise<string> {
  const socket = connect({ path: file, allowHalfOpen: true });
  await once(socket, "connect");
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  socket.on("error", () => undefined);
  socket.write(bytes);
  if (half) socket.end();
  await Promise.race([once(socket, "end"), once(socket, "close")]);
  socket.destroy();
  return text;
}

const envelope = (name: string, more: JsonRecord = {}): string =>
  JSON.stringify({ v: 1, id: `L${Math.random().toString(36).slice(2)}`, name, reason: "a test", ...more });

test("the socket is accessible to its user and its group", () => {
  expect(statSync(file).mode & 0o777).toBe(0o660);
});

test("monitoring reads liveness, readiness and metrics", async () => {
  expect(await ask("GET", "/healthz")).toEqual({ status: 200, type: "text/plain; charset=utf-8", body: "ok\n" });
  expect(await ask("GET", "/readyz?verbose")).toMatchObject({ status: 200 });
  expect(await ask("GET", "/metrics")).toEqual({
    status: 200,
    type: "text/plain; version=0.0.4; charset=utf-8",
    body: "siteward_up 1\n",
  });
  expect(await ask("GET", "/status")).toMatchObject({ status: 200, body: '{"health":"ok"}\n' });
  world.missing = ["the disk is full"];
  expect(await ask("GET", "/healthz")).toMatchObject({ status: 200 });
  expect(await ask("GET", "/readyz")).toMatchObject({ status: 503, body: "the disk is full\n" });
  world.stuck = ["executor has made no progress for 5m"];
  expect(await ask("GET", "/healthz")).toMatchObject({ status: 503, body: "executor has made no progress for 5m\n" });
  world.status = undefined;
  expect(await ask("GET", "/status")).toMatchObject({ status: 503 });
});

test("HEAD is GET without the body, and other methods get 405 with the allowed ones", async () => {
  expect(await ask("HEAD", "/metrics")).toMatchObject({ status: 200, body: "" });
  expect(await ask("POST", "/metrics", "x")).toMatchObject({ status: 405 });
  expect(await ask("GET", "/v1/cmd")).toMatchObject({ status: 405, body: "only POST\n" });
  expect(await ask("GET", "/etc/passwd")).toMatchObject({ status: 404 });
});

test("a local operator's command is answered when it ends, and its code is the HTTP status", async () => {
  const done = await ask("POST", "/v1/cmd", envelope("eviction.freeze", { args: { ttl: 60 }, by: "local:1000" }));
  expect(done).toMatchObject({ status: 200, type: "application/json" });
  expect(JSON.parse(done.body)).toMatchObject({ state: "succeeded", result: { what: "freeze site 60000" } });
  expect(await ask("POST", "/v1/cmd", envelope("eviction.freeze"))).toMatchObject({ status: 422 });
  expect(await ask("POST", "/v1/cmd", envelope("eviction.melt"))).toMatchObject({ status: 404 });
  board.standing = { isLeader: false, leader: "edge-05", term: 18 };
  expect(await ask("POST", "/v1/cmd", envelope("eviction.thaw"))).toMatchObject({ status: 421 });
});

test("a local command needs no topic: site commands go to the site, and the default board is this one", async () => {
  await ask("POST", "/v1/cmd", envelope("board.cordon"));
  await ask("POST", "/v1/cmd", envelope("board.cordon", { args: { board: "edge-05" } }));
  await ask("POST", "/v1/cmd", envelope("controllers.pause", { args: { controller: "pod-gc", ttl: 60 } }));
  expect(board.effects).toEqual(["cordon self", "cordon edge-05", "pause pod-gc 60000"]);
});

test("no local user can take the name of a fleet operator", async () => {
  await ask("POST", "/v1/cmd", envelope("board.cordon", { by: "ops:alice" }));
  await ask("POST", "/v1/cmd", envelope("board.cordon", { by: "local:1000" }));
  const authors = board.database.prepare<{ author: string }>("SELECT author FROM commands ORDER BY seq").all();
  expect(authors.map(({ author }) => author)).toEqual(["local:unknown", "local:1000"]);
});

test("a local command that changes something needs a reason, but a read does not", async () => {
  const silent = await ask("POST", "/v1/cmd", envelope("board.cordon", { reason: undefined }));
  expect([silent.status, JSON.parse(silent.body)]).toEqual([
    400,
    expect.objectContaining({ state: "rejected", error: "schema", field: "/reason" }),
  ]);
  expect(await ask("POST", "/v1/cmd", envelope("ping", { reason: undefined }))).toMatchObject({ status: 200 });
  expect(board.effects).toEqual([]);
});

test.each([
  ["not JSON", "{", 400],
  ["not an object", "[]", 400],
  ["nothing", "", 400],
  ["an id with a slash", JSON.stringify({ v: 1, id: "a/b", name: "ping" }), 400],
  ["a name that is a number", JSON.stringify({ v: 1, id: "a", name: 5 }), 400],
  ["brackets without end", "[".repeat(60_000), 400],
  ["a member named __proto__", '{"v":1,"id":"a","name":"ping","__proto__":{"x":1}}', 400],
])("a malformed body (%s) is answered, and the agent continues", async (_, body, status) => {
  expect(await ask("POST", "/v1/cmd", body)).toMatchObject({ status });
  expect(await ask("GET", "/healthz")).toMatchObject({ status: 200 });
});

test("bytes that are not a request are answered, and the agent continues", async () => {
  expect(await raw("hello\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
  expect(await raw(Buffer.alloc(20_000, 0xff))).toMatch(/^HTTP\/1\.1 431 /);
  expect(await raw("POST /v1/cmd HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n")).toMatch(/^HTTP\/1\.1 413 /);
  expect(await raw("GET /healthz HTTP/1.1\r\n", true)).toBe("");
  expect(await raw("GET /healthz HTTP/1.1\r\n\r\n", true)).toMatch(/^HTTP\/1\.1 200 /);
  expect(await raw("GET /healthz HTTP/1.1\r\n\r\nGET /status HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1\.1 200 /);
  expect(log.said("error")).toEqual([]);
});

test("two hundred half-open connections block others for a second, and those are asked to try again", async () => {
  const idle = Array.from({ length: 200 }, () => connect(file));
  for (const socket of idle) socket.on("error", () => undefined).write("GET /hea");
  const begun = performance.now();
  expect(await raw("GET /healthz HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1.1 503 .*\r\nRetry-After: 1\r\n/s);
  await expect.poll(async () => (await ask("GET", "/healthz")).status, { timeout: 5000 }).toBe(200);
  expect(performance.now() - begun).toBeLessThan(3000);
  for (const socket of idle) socket.destroy();
});

test("while sixteen requests are being answered, others get 503; later requests are answered again", async () => {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  board.effect = () => over.then(() => ({ outcome: "done", result: {} }));
  const asked = Array.from({ length: 200 }, () =>
    ask("POST", "/v1/cmd", envelope("eviction.freeze", { args: { ttl: 60 } })),
  );
  await expect.poll(() => board.effects.length).toBe(16);
  expect(await raw("GET /healthz HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1.1 503 .*\r\nRetry-After: 1\r\n/s);
  end();
  const answers = await Promise.all(asked);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(16);
  expect(
    answers.filter(({ status, body }) => status === 503 && body === "too many concurrent requests\n"),
  ).toHaveLength(184);
  await expect.poll(async () => (await ask("GET", "/healthz")).status).toBe(200);
});

test("a drain reports its progress, and continues when the client disconnects", async () => {
  let finish: (() => void) | undefined;
  board.effect = (_, { progress }) =>
    new Promise((resolve) => {
      board.clock.after(6000, () => progress?.({ evicted: 2 }));
      finish = () => resolve({ outcome: "done", result: { evicted: 5 } });
    });
  const received: unknown[] = [];
  const gone = giveCommand(file, {
    envelope: { v: 1, id: "D1", name: "board.drain", args: { timeout: 60 }, reason: "a test" },
    onAnswer: ({ state, result }) => received.push([state, result]),
    signal: new AbortController().signal,
  });
  await expect.poll(() => received.length).toBe(1);
  await board.clock.advance("6s");
  await expect.poll(() => received.length).toBe(2);
  finish?.();
  await gone;
  expect(received).toEqual([
    ["accepted", undefined],
    ["running", { evicted: 2 }],
    ["succeeded", { evicted: 5 }],
  ]);

  const leaver = new AbortController();
  const left = giveCommand(file, {
    envelope: { v: 1, id: "D2", name: "board.drain", args: { timeout: 60 }, reason: "a test" },
    onAnswer: () => leaver.abort(new Error("gone")),
    signal: leaver.signal,
  });
  await left.catch(() => undefined);
  finish?.();
  await expect
    .poll(() => board.database.prepare<{ state: string }>("SELECT state FROM commands WHERE id = 'D2'").get()?.state)
    .toBe("succeeded");
});

test("a restart is accepted before the agent ends", async () => {
  board.effect = async () => ({ outcome: "done", result: {} });
  const answer = ask("POST", "/v1/cmd", envelope("agent.restart"));
  await expect.poll(() => board.effects).toEqual(["restart"]);
  void end();
  expect(await answer).toMatchObject({ status: 202 });
});

test("a socket file left by a killed process is replaced, but not one with a listener", async () => {
  await end();
  expect(existsSync(file)).toBe(false);
  const script = `require("net").createServer().listen(${JSON.stringify(file)}, () => console.log("listening"))`;
  const child = spawn(process.execPath, ["-e", script]);
  await once(child.stdout, "data");
  start();
  await expect.poll(() => log.said("warn")).toEqual(["the control socket cannot be opened"]);
  await end();
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(existsSync(file)).toBe(true);
  start();
  await expect.poll(async () => (await ask("GET", "/healthz").catch(() => undefined))?.status).toBe(200);
});

test("another file in the socket's place is left alone, and the agent continues", async () => {
  await end();
  writeFileSync(file, "mine");
  start();
  await expect.poll(() => log.said("warn")).toEqual(["the control socket cannot be opened"]);
  expect(statSync(file).isFile()).toBe(true);
});

test("a socket whose file was removed is created again, and another file in its place is left alone", async () => {
  await end();
  const clock = new SystemClock();
  hurried = { now: () => clock.now(), after: (delay, run) => clock.after(Math.min(delay, 50), run) };
  start();
  await expect.poll(() => existsSync(file)).toBe(true);
  rmSync(file);
  await expect.poll(() => ask("GET", "/metrics").catch(() => undefined)).toBeDefined();
  expect(log.said("warn")).toEqual(["the control socket's file was removed; recreating it"]);
  rmSync(file);
  writeFileSync(file, "mine");
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(statSync(file).isFile()).toBe(true);
  rmSync(file);
  await expect.poll(() => ask("GET", "/metrics").catch(() => undefined)).toBeDefined();
});

test("a client distinguishes an absent agent from a missing permission to connect", async () => {
  await end();
  const give = giveCommand(file, { envelope: {}, onAnswer: () => undefined, signal: new AbortController().signal });
  await expect(give).rejects.toMatchObject({ isForbidden: false });
  await expect(give).rejects.toBeInstanceOf(SocketError);
});
