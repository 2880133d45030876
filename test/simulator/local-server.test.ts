import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { noopLogger } from "../../agent/base/logger.ts";
import { LocalServer, type ServerProgram } from "../../simulator/local-server.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { SeededRandom } from "../support/seeded-random.ts";

let clock: FakeClock;
let opened: number;
let server: LocalServer;

beforeEach(() => {
  clock = new FakeClock();
  opened = 0;
  server = new LocalServer({ clock, random: new SeededRandom(), log: noopLogger }, { open: program });
});

afterEach(() => server.stop());

/** Answers with the number of its life. */
function program(): ServerProgram {
  const life = ++opened;
  const http = createServer((_, response) => response.end(String(life)));
  return {
    listen: async (port, host) => {
      await listening(http, port, host);
      return { port: (http.address() as AddressInfo).port };
    },
    run: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    close: () => new Promise((resolve) => http.close(() => resolve())),
  };
}

test("a used port is skipped", async () => {
  const other = createServer();
  await listening(other, 0, "127.0.0.1");
  const taken = (other.address() as AddressInfo).port;
  await server.start(taken);
  expect(server.port).toBeGreaterThan(taken);
  await new Promise((resolve) => other.close(resolve));
});

test("a restart brings a new server on the same port, after a time without responses", async () => {
  await server.start(0);
  const { port } = server;
  expect(await ask(port)).toBe("1");
  const done = server.restart(5000, new AbortController().signal);
  await until(() => clock.timers > 0);
  await expect(ask(port)).rejects.toThrow();
  await clock.advance("5s");
  await done;
  expect(server.port).toBe(port);
  expect(await ask(port)).toBe("2");
});

test("a site that ends during a restart does not wait for it", async () => {
  await server.start(0);
  const ended = new AbortController();
  const done = server.restart(5000, ended.signal);
  await until(() => clock.timers > 0);
  ended.abort();
  await done;
  expect(opened).toBe(1);
});

async function listening(http: Server, port: number, host: string): Promise<void> {
  const failed = once(http, "error").then(([error]) => Promise.reject(error));
  http.listen(port, host);
  await Promise.race([once(http, "listening"), failed]);
}

const ask = async (port: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } })).text();

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
