import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SystemClock } from "../../../agent/base/clock.ts";
import { Relay } from "../../../simulator/boards/relay.ts";

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

test("a board's bytes arrive, and so does the response, to the end", async () => {
  const board = await link();
  board.socket.end("hello");
  await once(board.socket, "close");
  expect(board.received()).toBe("hello");
});

test("a transfer larger than the buffers arrives whole and in order", async () => {
  const board = await link();
  const sent = Buffer.from(Array.from({ length: 200_000 }, (_, at) => String(at)).join(","));
  relay.set({ is: "up", delay: 4 });
  board.socket.end(sent);
  await once(board.socket, "close");
  expect(board.received() === sent.toString()).toBe(true);
});

test("a cut link does not lose anything: bytes sent in the meantime arrive when it is restored", async () => {
  const board = await link();
  board.socket.write("before ");
  await until(() => board.received() === "before ");
  relay.set({ is: "silent" });
  board.socket.write("meanwhile");
  await pause(60);
  expect(board.received()).toBe("before ");
  expect(board.ended()).toBe(false);
  relay.set({ is: "up", delay: 0 });
  await until(() => board.received() === "before meanwhile");
});

test("a connection that is opened over a cut link waits for it", async () => {
  relay.set({ is: "silent" });
  const board = await link();
  board.socket.write("hello");
  await pause(60);
  expect(farSockets.size).toBe(0);
  relay.set({ is: "up", delay: 0 });
  await until(() => board.received() === "hello");
});

test("a refusing link breaks open connections and accepts none", async () => {
  const board = await link();
  board.socket.write("x");
  await until(() => board.received() === "x");
  relay.set({ is: "refused" });
  await until(() => board.ended());
  const another = await link();
  await until(() => another.ended());
  await until(() => farSockets.size === 0);
});

test("after a reset the connection is closed at both ends and the board can reconnect", async () => {
  const board = await link();
  board.socket.write("x");
  await until(() => board.received() === "x");
  relay.reset();
  await until(() => board.ended() && farSockets.size === 0);
  const again = await link();
  again.socket.write("y");
  await until(() => again.received() === "y");
});

test("a slow link delays each round trip once", async () => {
  relay.set({ is: "up", delay: 200 });
  const board = await link();
  const begun = performance.now();
  for (const word of ["a", "b", "c"]) board.socket.write(word);
  await until(() => board.received() === "abc");
  const taken = performance.now() - begun;
  expect(taken).toBeGreaterThan(190);
  expect(taken).toBeLessThan(390);
});

test("a board notices when the API closes its connection", async () => {
  const board = await link();
  board.socket.write("x");
  await until(() => board.received() === "x");
  for (const socket of farSockets) socket.resetAndDestroy();
  await until(() => board.ended());
});

async function link() {
  const socket = connect(port, "127.0.0.1");
  opened.push(socket);
  let received = "";
  let ended = false;
  socket.on("data", (bytes) => {
    received += bytes;
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    ended = true;
  });
  await Promise.race([once(socket, "connect"), new Promise((resolve) => socket.once("close", resolve))]).catch(
    () => {},
  );
  return { socket, received: () => received, ended: () => ended };
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !holds(); tries++) await pause(10);
  expect(holds()).toBe(true);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
