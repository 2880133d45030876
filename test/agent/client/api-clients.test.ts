import { expect, test } from "vitest";
import { nodes } from "../../../agent/api/resources.ts";
import { noopLogger } from "../../../agent/base/logger.ts";
import { ApiClients } from "../../../agent/client/api-clients.ts";
import { CredentialsError } from "../../../agent/client/credentials/credentials-error.ts";
import { Traffic } from "../../../agent/client/traffic.ts";
import type { HttpResponse } from "../../../agent/client/transport/transport.ts";
import { TransportError } from "../../../agent/client/transport/transport-error.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const rate = { qps: 1000, burst: 1000 };
const timeouts = { read: 30_000, list: 30_000, watch: 30_000, write: 30_000 };

async function* bytesOf(body: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(body));
}

const answer = (status: number): HttpResponse => ({
  status,
  headers: {},
  body: bytesOf({ kind: "Node", apiVersion: "v1", metadata: { name: "pi-3", uid: "u1", resourceVersion: "5" } }),
});

/** Clients of a server that answers as it is set to. */
function site() {
  const ambient = { clock: new FakeClock(), random: new SeededRandom(), log: noopLogger };
  const noticed: string[] = [];
  const server = { answers: (): HttpResponse => answer(200), asked: 0 };
  const clients = new ApiClients(ambient, {
    link: {
      send: async () => {
        server.asked++;
        return server.answers();
      },
    },
    traffic: new Traffic(),
    timeouts,
    userAgent: "siteward/1",
    reached: () => noticed.push("reached"),
  });
  const fails = (error: Error): void => {
    server.answers = () => {
      throw error;
    };
  };
  return { clients, noticed, server, fails };
}

type Client = ReturnType<ApiClients["client"]>;

const ask = (client: Client, signal = new AbortController().signal): Promise<string> =>
  client.get(nodes, { name: "pi-3" }, signal).then(
    () => "answered",
    () => "failed",
  );

test("any response to any client marks the API server as reached", async () => {
  const { clients, noticed, server } = site();
  await ask(clients.client(rate));
  server.answers = () => answer(403);
  await ask(clients.client(rate));
  expect(noticed).toEqual(["reached", "reached"]);
});

test("a lost connection is reported to every listener, including one of a client made earlier", async () => {
  const { clients, noticed, fails } = site();
  const client = clients.client(rate);
  clients.onLost(() => noticed.push("history in doubt"));
  clients.onLost(() => noticed.push("second listener"));
  fails(new TransportError("Protocol", "the answer broke off"));
  expect(await ask(client)).toBe("failed");
  expect(noticed.slice(0, 2)).toEqual(["history in doubt", "second listener"]);
});

test("credentials that this board cannot read do not affect the state of the connection", async () => {
  const { clients, noticed, fails } = site();
  clients.onLost(() => noticed.push("lost"));
  fails(new CredentialsError("the token cannot be read", "Renew it."));
  expect(await ask(clients.client(rate))).toBe("failed");
  expect(noticed).toEqual([]);
});

test("a request whose deadline passes while it is queued is never sent", async () => {
  const { clients, noticed, server } = site();
  const deadline = new AbortController();
  const client = clients.client(rate, { turn: async () => deadline.abort(new Error("too late")) });
  expect(await ask(client, deadline.signal)).toBe("failed");
  expect([server.asked, noticed]).toEqual([0, []]);
});
