import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SystemClock } from "../../agent/base/clock.ts";
import { Relay } from "../../simulator/relay.ts";

/** An API that says everything back. */
let far: Server;
let farSockets: Set<Socket>;
let relay: Relay;
let port: number;
let close: () => Promise<void>;
const opened: Socket[] = [];

beforeEach(async () => {
  farSockets = new Set();
  far = createServer({ allowHalfOpen: true }, (socket) => {
    farSockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => farSockets.delete(socket));
    socket.pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(far, "listening");
  const address = far.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  relay = new Relay({ clock: new SystemClock() }, { target: address.port });
  ({ port, close } = await relay.listen());
});

afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await close();
  far.close();
});

test("what a board says arrives, and the answer comes back, to the end", async () => {
  const board = await link();
  board.socket.end("hello");
  await once(board.socket, "close");
  expect(board.heard()).toBe("hello");
});

test("much more than fits into the lanes arrives whole and in order", async () => {
  const board = await link();
  const sent = Buffer.from(Array.from({ length: 200_000 }, (_, at) => String(at)).join(","));
  relay.set({ is: "up", delay: 4 });
  board.socket.end(sent);
  await once(board.socket, "close");
  expect(board.heard() === sent.toString()).toBe(true);
});

test("a cut link swallows nothing: what was said meanwhile arrives when it is restored", async () => {
  const board = await link();
  board.socket.write("before ");
  await until(() => board.heard() === "before ");
  relay.set({ is: "silent" });
  board.socket.write("meanwhile");
  await pause(60);
  expect(board.heard()).toBe("before ");
  expect(board.ended()).toBe(false);
  relay.set({ is: "up", delay: 0 });
  await until(() => board.heard() === "before meanwhile");
});

test("a connection that is opened over a cut link waits for it", async () => {
  relay.set({ is: "silent" });
  const board = await link();
  board.socket.write("hello");
  await pause(60);
  expect(farSockets.size).toBe(0);
  relay.set({ is: "up", delay: 0 });
  await until(() => board.heard() === "hello");
});

test("a refusing link breaks what is open and lets nothing in", async () => {
  const board = await link();
  board.socket.write("x");
  await until(() => board.heard() === "x");
  relay.set({ is: "refused" });
  await until(() => board.ended());
  const another = await link();
  await until(() => another.ended());
  await until(() => farSockets.size === 0);
});

test("after a reset the board is broken off at both ends and can begin anew", async () => {
  const board = await link();
  board.socket.write("x");
  await until(() => board.heard() === "x");
  relay.reset();
  await until(() => board.ended() && farSockets.size === 0);
  const again = await link();
  again.socket.write("y");
  await until(() => again.heard() === "y");
});

test("a slow link takes its time, once for each round trip", async () => {
  relay.set({ is: "up", delay: 200 });
  const board = await link();
  const begun = performance.now();
  for (const word of ["a", "b", "c"]) board.socket.write(word);
  await until(() => board.heard() === "abc");
  const taken = performance.now() - begun;
  expect(taken).toBeGreaterThan(190);
  expect(taken).toBeLessThan(390);
});

test("a board hears of it when the API breaks its connection", async () => {
  const board = await link();
  board.socket.write("x");
  await until(() => board.heard() === "x");
  for (const socket of farSockets) socket.resetAndDestroy();
  await until(() => board.ended());
});

async function link() {
  const socket = connect(port, "127.0.0.1");
  opened.push(socket);
  let heard = "";
  let ended = false;
  socket.on("data", (bytes) => {
    heard += bytes;
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    ended = true;
  });
  await Promise.race([once(socket, "connect"), new Promise((resolve) => socket.once("close", resolve))]).catch(
    () => {},
  );
  return { socket, heard: () => heard, ended: () => ended };
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !holds(); tries++) await pause(10);
  expect(holds()).toBe(true);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
