import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { SystemClock } from "../../../agent/base/clock.ts";
import { answersTcp, gatewayByTcp } from "../../../agent/witness/gateway.ts";

async function listening(): Promise<{ readonly port: number; close(): Promise<unknown> }> {
  const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { port: address.port, close: () => new Promise((resolve) => server.close(resolve)) };
}

test("a machine answers by accepting a connection or refusing it", async () => {
  const { port, close } = await listening();
  expect(await answersTcp(new SystemClock(), "127.0.0.1", port)).toBe(true);
  await close();
  expect(await answersTcp(new SystemClock(), "127.0.0.1", port)).toBe(true);
});

test("an address that cannot be reached does not answer, and no router is not one that answers", async () => {
  // Nobody accepts a connection to all machines at once.
  expect(await answersTcp(new SystemClock(), "255.255.255.255", 53)).toBe(false);
  expect(await gatewayByTcp(new SystemClock(), () => undefined)("eth0")).toBe(false);
  expect(await gatewayByTcp(new SystemClock(), () => "127.0.0.1")("eth0")).toBe(true);
});
