import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../../agent/base/clock.ts";
import { answerAfter, healthz } from "../../../agent/witness/healthz.ts";
import type { LanPort } from "../../../agent/witness/lan.ts";
import { udp } from "../../../agent/witness/udp.ts";

const open: { close(): void }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

async function freePort(): Promise<number> {
  const socket = createSocket("udp4");
  socket.bind(0);
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  return port;
}

describe("the LAN by UDP", () => {
  test("carries a datagram to its receiver, and the answer back", async () => {
    const port = await freePort();
    const board = await udp.open(port, (datagram, reply) => reply(Buffer.from(`to ${Buffer.from(datagram)}`)));
    const answered = Promise.withResolvers<readonly string[]>();
    const leader = await udp.open(0, (datagram, _reply, sender) =>
      answered.resolve([Buffer.from(datagram).toString(), sender]),
    );
    open.push(board, leader);
    leader.send(Buffer.from("question"), { address: "127.0.0.1", port }, answered.reject);
    expect(await answered.promise).toEqual(["to question", "127.0.0.1"]);
  });

  test("carries a datagram to everyone on a network", async () => {
    const port = await freePort();
    const received = Promise.withResolvers<string>();
    open.push(await udp.open(port, (datagram) => received.resolve(Buffer.from(datagram).toString())));
    const leader = await udp.open(0, () => {});
    open.push(leader);
    leader.send(Buffer.from("question"), { address: "127.255.255.255", port }, received.reject);
    expect(await received.promise).toBe("question");
  });

  test("refuses a port that is taken, and frees it when it closes", async () => {
    const port = await freePort();
    const first = await udp.open(port, () => {});
    open.push(first);
    await expect(udp.open(port, () => {})).rejects.toThrow("EADDRINUSE");
    first.close();
    expect(await first.closed).toBe(undefined);
    open.push(await udp.open(port, () => {}));
  });

  test("reports that a datagram was not sent because the port is closed", async () => {
    const port: LanPort = await udp.open(0, () => {});
    port.close();
    const failed = Promise.withResolvers<Error>();
    port.send(Buffer.from("x"), { address: "127.0.0.1", port: 9 }, failed.resolve);
    expect((await failed.promise).message).toBe("the port is closed");
  });
});

describe("the kubelet's health", () => {
  async function kubelet(status: number | "never"): Promise<number> {
    const server: Server = createServer((_, response) => {
      if (status === "never") return;
      response.writeHead(status).end("ok".repeat(100_000));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    open.push({
      close: () => {
        server.closeAllConnections();
        server.close();
      },
    });
    return (server.address() as AddressInfo).port;
  }

  test.each([
    [200, "ok"],
    [500, "unhealthy"],
    [301, "unhealthy"],
    ["never", "silent"],
  ] as const)("with status %s is %s", async (status, health) => {
    expect(await healthz(new SystemClock(), await kubelet(status))()).toBe(health);
  });

  test("is silent if no program listens", async () => {
    expect(await healthz(new SystemClock(), await freePort())()).toBe("silent");
  });

  test.each([
    ["EADDRNOTAVAIL", "unasked"],
    ["EMFILE", "unasked"],
    ["ECONNREFUSED", "silent"],
    ["ECONNRESET", "silent"],
    [undefined, "silent"],
  ])("is not known if this machine fails to connect, and silent if the kubelet refuses: %s", (code, answer) => {
    expect(answerAfter(Object.assign(new Error("connect"), code && { code }))).toBe(answer);
  });
});
