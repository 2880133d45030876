import { gzipSync } from "node:zlib";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Access, Credentials, TlsAccess } from "../../../../agent/client/credentials/credentials.ts";
import { HttpTransport } from "../../../../agent/client/transport/http-transport.ts";
import { defaultHealth } from "../../../../agent/client/transport/http2-wire.ts";
import type { HttpRequest, HttpResponse } from "../../../../agent/client/transport/transport.ts";
import { NoFurtherConnection, TransportError } from "../../../../agent/client/transport/transport-error.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { Authority, hasOpenssl } from "../certificates.ts";
import { type Answering, type Asked, eventually, LoopbackServer, type Protocol, Relay } from "../loopback-server.ts";

const openssl = hasOpenssl();
const authority = openssl ? new Authority() : undefined;
const pair = authority?.issue("api");
afterAll(() => authority?.remove());

const toStop: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of toStop.splice(0).reverse()) await part.stop();
});

class FixedCredentials implements Credentials {
  server: URL;
  readonly #tls: Partial<TlsAccess>;
  token = "secret";
  outdated = false;
  refusals = 0;
  reads = 0;

  constructor(url: string, tls: Partial<TlsAccess> = {}) {
    this.server = new URL(url);
    this.#tls = tls;
  }

  async access(): Promise<Access> {
    this.reads++;
    const given = this;
    const wasOutdated = this.outdated;
    const tls = { ca: authority?.ca, certificate: undefined, key: undefined, serverName: undefined, verify: true };
    return {
      server: this.server,
      namespace: undefined,
      tls: { ...tls, ...this.#tls },
      proxy: undefined,
      authorization: async () => (given.token === "" ? undefined : `Bearer ${given.token}`),
      get outdated() {
        return given.outdated && !wasOutdated;
      },
      refused: () => {
        given.refusals++;
      },
    };
  }
}

function client(
  url: string,
  {
    clock = new FakeClock(),
    tls = {},
    proxies = {},
  }: { clock?: FakeClock; tls?: Partial<TlsAccess>; proxies?: { proxy?: string; except?: string } } = {},
) {
  const credentials = new FixedCredentials(url, tls);
  const log = new RecordingLog();
  const transport = new HttpTransport(
    { clock, random: new SeededRandom(), log },
    {
      credentials,
      proxies: { proxy: undefined, except: undefined, ...proxies },
      health: defaultHealth,
      timeout: 30_000,
    },
  );
  toStop.push({ stop: async () => transport.close() });
  return { clock, credentials, transport, log, send: transport.send };
}

const get = (path = "/", more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: "GET",
  path,
  headers: {},
  signal: new AbortController().signal,
  ...more,
});

async function textOf({ body }: HttpResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "did not fail",
    (error: unknown) => error,
  );

async function serving(
  protocol: Protocol,
  answer: (asked: Asked, answering: Answering) => void,
  more: { port?: number; maxConcurrentStreams?: number } = {},
) {
  const server = await LoopbackServer.start({ protocol, pair, answer, ...more });
  toStop.push(server);
  return server;
}

const protocols: Protocol[] = openssl ? ["HTTP/2", "HTTPS/1.1", "HTTP/1.1"] : ["HTTP/1.1"];

describe.each(protocols)("over %s", (protocol) => {
  test("a request and its response arrive unchanged", async () => {
    const seen: unknown[] = [];
    const server = await serving(protocol, async (asked, answering) => {
      const body: Buffer[] = [];
      for await (const piece of asked) body.push(piece as Buffer);
      const { authorization, "content-type": type } = asked.headers;
      seen.push([asked.method, asked.url, authorization, type, Buffer.concat(body).toString()]);
      answering.writeHead(201, { "X-Test": "yes", "retry-after": "3" });
      answering.end("done");
    });
    const { send } = client(`${server.url}/k8s/site/`);
    const headers = { "content-type": "application/json" };
    const response = await send(get("/api/v1/nodes?limit=5", { method: "POST", headers, body: '{"ä":1}' }));
    expect([response.status, response.headers["x-test"], response.headers["retry-after"]]).toEqual([201, "yes", "3"]);
    expect(await textOf(response)).toBe("done");
    expect(seen).toEqual([["POST", "/k8s/site/api/v1/nodes?limit=5", "Bearer secret", "application/json", '{"ä":1}']]);
  });

  test("a deletion's preconditions arrive with it, and the next request on the connection is read as a separate one", async () => {
    const seen: unknown[] = [];
    const server = await serving(protocol, async (asked, answering) => {
      const body: Buffer[] = [];
      for await (const piece of asked) body.push(piece as Buffer);
      seen.push([asked.method, asked.url, Buffer.concat(body).toString()]);
      answering.end("{}");
    });
    const { send } = client(server.url);
    const headers = { "content-type": "application/json" };
    for (const name of ["a", "b"]) {
      const body = JSON.stringify({ preconditions: { uid: `uid-${name}` } });
      const response = await send(get(`/pods/${name}`, { method: "DELETE", headers, body }));
      expect([response.status, await textOf(response)]).toEqual([200, "{}"]);
    }
    expect(seen).toEqual([
      ["DELETE", "/pods/a", '{"preconditions":{"uid":"uid-a"}}'],
      ["DELETE", "/pods/b", '{"preconditions":{"uid":"uid-b"}}'],
    ]);
    expect(server.connections).toBe(1);
  });

  test("consecutive requests share a connection, for which the credentials are read once", async () => {
    const server = await serving(protocol, (_, answering) => void answering.end("x"));
    const { send, credentials } = client(server.url);
    for (let i = 0; i < 5; i++) await textOf(await send(get()));
    expect(server.connections).toBe(1);
    expect(credentials.reads).toBe(1);
  });

  test("the guard is called once the connection is up; if it throws, the request is not sent", async () => {
    const seen: string[] = [];
    const server = await serving(protocol, (asked, answering) => {
      seen.push(asked.url ?? "");
      answering.end();
    });
    const { send } = client(server.url);
    const guard = () => {
      seen.push(`guard, ${server.connections} connections`);
      throw new Error("the term is over");
    };
    expect(await failure(send(get("/first", { guard })))).toEqual(new Error("the term is over"));
    await textOf(await send(get("/second", { guard: () => void seen.push("guard") })));
    expect(seen).toEqual(["guard, 1 connections", "guard", "/second"]);
  });

  test("a compressed response is decompressed, and counted as transferred", async () => {
    const text = "nodes ".repeat(20_000);
    const server = await serving(protocol, (asked, answering) => {
      answering.writeHead(200, {
        "content-encoding": asked.headers["accept-encoding"] === "gzip" ? "gzip" : "identity",
      });
      answering.end(gzipSync(text));
    });
    const { send, transport } = client(server.url);
    const response = await send(get("/", { headers: { "accept-encoding": "gzip" } }));
    expect(await textOf(response)).toBe(text);
    expect(response.received?.()).toBe(gzipSync(text).length);
    expect(transport.bytes().down).toBeGreaterThan(gzipSync(text).length);
    expect(transport.bytes().down).toBeLessThan(gzipSync(text).length + 5000);
    expect(transport.bytes().up).toBeGreaterThan(50);
  });

  test.each([
    ["small", "words ", false],
    ["small and compressed", "words ", true],
    ["empty", "", false],
    ["large", "words ".repeat(100_000), false],
  ])("a response that is %s is complete, even if reading begins late", async (_, text, isCompressed) => {
    const { url } = await serving(protocol, (_asked, answering) => {
      answering.writeHead(200, isCompressed ? { "content-encoding": "gzip" } : {});
      answering.end(isCompressed ? gzipSync(text) : text);
    });
    const { send } = client(url);
    const response = await send(get());
    // Longer than the server needs to end the exchange.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await textOf(response)).toBe(text);
  });

  test("a truncated compressed response is an error", async () => {
    const server = await serving(protocol, (_, answering) => {
      answering.writeHead(200, { "content-encoding": "gzip" });
      answering.end(gzipSync("x".repeat(1000)).subarray(0, 20));
    });
    const { send } = client(server.url);
    expect(await failure(textOf(await send(get())))).toMatchObject({ name: "TransportError", reason: "Reset" });
  });

  test("an aborted request ends immediately with the signal's reason, and the server notices", async () => {
    let closed = 0;
    const server = await serving(protocol, (asked, answering) => {
      answering.on("close", () => closed++);
      if (asked.url === "/stream") {
        answering.writeHead(200);
        answering.write("begun");
      }
    });
    const { send } = client(server.url);
    for (const path of ["/silent", "/stream"]) {
      const stop = new AbortController();
      const answer = send(get(path, { signal: stop.signal }));
      const whole = failure(path === "/stream" ? answer.then(textOf) : answer);
      if (path === "/stream") await answer;
      else await eventually(() => server.connections > 0);
      await new Promise((resolve) => setTimeout(resolve, 20));
      stop.abort(new Error(`no more of ${path}`));
      expect(await whole).toEqual(new Error(`no more of ${path}`));
    }
    await eventually(() => closed === 2);
    expect(await failure(send(get("/", { signal: AbortSignal.abort(new Error("before")) })))).toEqual(
      new Error("before"),
    );
  });

  test("leaving the loop over a response ends the exchange", async () => {
    let closed = false;
    const server = await serving(protocol, (_, answering) => {
      answering.on("close", () => {
        closed = true;
      });
      answering.writeHead(200);
      answering.write("first");
    });
    const { send } = client(server.url);
    for await (const piece of (await send(get())).body) {
      expect(Buffer.from(piece).toString()).toBe("first");
      break;
    }
    await eventually(() => closed);
  });

  test("a response that does not begin in time is an error; one that has begun may take longer", async () => {
    const server = await serving(protocol, (asked, answering) => {
      if (asked.url === "/silent") return;
      answering.writeHead(200);
      answering.write("begun");
      if (asked.url === "/slow") setTimeout(() => answering.end(", ended"), 150);
    });
    const { send, clock } = client(server.url);
    const slow = await send(get("/slow", { timeout: 5000 }));
    const silent = failure(send(get("/silent", { timeout: 10_000 })));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await clock.advance("10s");
    expect(await silent).toMatchObject({
      name: "TransportError",
      reason: "Timeout",
      message: "no response within 10s",
    });
    expect(await textOf(slow)).toBe("begun, ended");
  });

  test("a connection that breaks in the middle of a response is an error, not its end", async () => {
    const server = await serving(protocol, (_, answering) => {
      answering.writeHead(200);
      answering.write("half");
      setTimeout(() => server.cut(), 30);
    });
    const { send } = client(server.url);
    expect(await failure(textOf(await send(get())))).toMatchObject({ name: "TransportError", reason: "Reset" });
  });

  test("a server that restarts is reached again", async () => {
    const answer = (_: Asked, answering: Answering) => void answering.end("x");
    const server = await LoopbackServer.start({ protocol, pair, answer });
    const { port, url } = server;
    const { send } = client(url);
    await textOf(await send(get()));
    await server.stop();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await failure(send(get()))).toMatchObject({
      reason: "ConnectionRefused",
      disposition: "retry",
      message: `${url}: the connection was refused`,
    });
    await serving(protocol, answer, { port });
    expect(await textOf(await send(get()))).toBe("x");
  });

  test("401 makes the next request read the credentials again", async () => {
    const server = await serving(protocol, (asked, answering) => {
      answering.writeHead(asked.headers.authorization === "Bearer renewed" ? 200 : 401);
      answering.end();
    });
    const { send, credentials } = client(server.url);
    expect((await send(get())).status).toBe(401);
    expect(credentials.refusals).toBe(1);
    credentials.token = "renewed";
    expect((await send(get())).status).toBe(200);
    expect(credentials.reads).toBe(2);
  });

  test("after renew, the next request reads the credentials again; open exchanges continue", async () => {
    const watches: Answering[] = [];
    const server = await serving(protocol, (asked, answering) => {
      answering.writeHead(200);
      answering.write(`${asked.headers.authorization} `);
      if (asked.url === "/watch") watches.push(answering);
      else answering.end();
    });
    const { send, credentials, transport } = client(server.url);
    const watch = await send(get("/watch"));
    credentials.token = "renewed";
    transport.renew();
    expect(await textOf(await send(get()))).toBe("Bearer renewed ");
    expect(credentials.reads).toBe(2);
    for (const open of watches) open.end("and on");
    expect(await textOf(watch)).toBe("Bearer secret and on");
  });

  test("a renewal with another address ends the exchanges with the previous address", async () => {
    const former = await serving(protocol, (_, answering) => {
      answering.writeHead(200);
      answering.write("of the former");
    });
    const present = await serving(protocol, (_, answering) => void answering.end("of the present"));
    const { send, credentials, transport } = client(former.url);
    const watch = failure(textOf(await send(get("/watch"))));
    credentials.server = new URL(present.url);
    transport.renew();
    expect(await textOf(await send(get()))).toBe("of the present");
    expect(await watch).toBeInstanceOf(TransportError);
  });

  test("many simultaneous requests all get their responses", async () => {
    const server = await serving(protocol, (asked, answering) => void answering.end(`${asked.url}`));
    const { send } = client(server.url);
    const paths = Array.from({ length: 200 }, (_, i) => `/${i}`);
    expect(await Promise.all(paths.map(async (path) => textOf(await send(get(path)))))).toEqual(paths);
    if (protocol === "HTTP/2") expect(server.connections).toBe(1);
  });

  test("no listener is left on a signal once an exchange has ended", async () => {
    const server = await serving(protocol, (_, answering) => void answering.end("x"));
    const { send, clock } = client(server.url);
    const stop = new AbortController();
    let listeners = 0;
    const { signal } = stop;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    const listening = new Set<unknown>();
    signal.addEventListener = (type: string, listener: never, options?: never) => {
      listening.add(listener);
      listeners = Math.max(listeners, listening.size);
      add(type, listener, options);
    };
    signal.removeEventListener = (type: string, listener: never, options?: never) => {
      listening.delete(listener);
      remove(type, listener, options);
    };
    for (let i = 0; i < 5; i++) await textOf(await send(get("/", { signal })));
    await eventually(() => listening.size === 0);
    expect(listeners).toBeGreaterThan(0);
    expect(clock.timers).toBe(0);
  });
});

describe.skipIf(!openssl)("an HTTP/2 connection", () => {
  /** Lets fake time pass while real sockets get their turns. */
  async function pass(clock: FakeClock, seconds: number, realTime = 10): Promise<void> {
    for (let i = 0; i < seconds; i += 5) {
      await clock.advance("5s");
      await new Promise((resolve) => setTimeout(resolve, realTime));
    }
  }

  async function overRelay(answer: (asked: Asked, answering: Answering) => void) {
    const server = await serving("HTTP/2", answer);
    const relay = await Relay.start(() => server.port);
    toStop.push(relay);
    return { server, relay, ...client(`https://127.0.0.1:${relay.port}`) };
  }

  const streaming = (_: Asked, answering: Answering): void => {
    answering.writeHead(200);
    answering.write("begun");
  };

  test("without traffic stays open as long as pings are answered", async () => {
    const { send, clock, relay } = await overRelay(streaming);
    let ended: unknown = "not yet";
    void failure(textOf(await send(get()))).then((error) => {
      ended = error;
    });
    await pass(clock, 300);
    expect(ended).toBe("not yet");
    relay.frozen = true;
    await pass(clock, 60);
    expect(ended).toMatchObject({ reason: "Timeout", message: expect.stringContaining("a ping was not answered") });
  });

  test("that is dead is noticed after 45 s of silence, and the next request opens a new one", async () => {
    const { send, clock, relay, server } = await overRelay(streaming);
    const reading = failure(textOf(await send(get())));
    let ended = false;
    void reading.then(() => {
      ended = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    relay.frozen = true;
    await pass(clock, 40);
    expect(ended).toBe(false);
    await pass(clock, 10);
    await reading;
    relay.frozen = false;
    expect((await send(get())).status).toBe(200);
    expect(server.connections).toBe(2);
  });

  test("with an overdue response is immediately checked with a ping", async () => {
    const { send, clock, relay, server } = await overRelay((asked, answering) => {
      if (asked.url !== "/silent") answering.end("x");
    });
    await textOf(await send(get()));
    relay.frozen = true;
    const first = failure(send(get("/silent", { timeout: 10_000 })));
    await clock.settle();
    await pass(clock, 10);
    expect(await first).toMatchObject({ reason: "Timeout" });
    await pass(clock, 15);
    relay.frozen = false;
    expect(await textOf(await send(get()))).toBe("x");
    expect(server.connections).toBe(2);
  });

  test("does not send a ping while no request is open", async () => {
    const { send, clock, transport } = await overRelay((_, answering) => void answering.end("x"));
    await textOf(await send(get()));
    await new Promise((resolve) => setTimeout(resolve, 30));
    const before = transport.bytes();
    await pass(clock, 3600, 0);
    expect(transport.bytes()).toEqual(before);
  });

  test("that receives GOAWAY completes its exchanges and accepts no new ones", async () => {
    const server = await serving("HTTP/2", (asked, answering) => {
      if (asked.url !== "/long") return void answering.end("short");
      answering.writeHead(200);
      answering.write("begun");
      for (const session of server.sessions) session.goaway(0);
      setTimeout(() => answering.end(", ended"), 80);
    });
    const { send } = client(server.url);
    const long = await send(get("/long"));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(await textOf(await send(get("/short")))).toBe("short");
    expect(await textOf(long)).toBe("begun, ended");
    expect(server.connections).toBe(2);
  });

  test("never delays a request after its guard was called, because it waits for a free stream first", async () => {
    const open: Answering[] = [];
    const server = await serving("HTTP/2", (_, answering) => void open.push(answering), { maxConcurrentStreams: 2 });
    const { send } = client(server.url);
    const asked: string[] = [];
    const one = (path: string) => send(get(path, { guard: () => void asked.push(path) })).then(textOf);
    const warm = one("/warm");
    await eventually(() => open.length === 1);
    open.pop()?.end("x");
    await warm;
    const answers = ["/a", "/b", "/c"].map(one);
    await eventually(() => open.length === 2);
    expect(asked).toEqual(["/warm", "/a", "/b"]);
    open.shift()?.end("x");
    await eventually(() => asked.length === 4);
    for (const answering of open) answering.end("x");
    await eventually(() => open.length === 2);
    open.at(-1)?.end("x");
    expect(await Promise.all(answers)).toEqual(["x", "x", "x"]);
  });

  test("is replaced when the credential plugin returns another certificate", async () => {
    const server = await serving("HTTP/2", (_, answering) => void answering.end("x"));
    const { send, credentials } = client(server.url);
    await textOf(await send(get()));
    credentials.outdated = true;
    expect(await textOf(await send(get()))).toBe("x");
    expect([server.connections, credentials.reads]).toEqual([2, 2]);
  });

  test("to a server that refuses our certificate fails with a message and a hint", async () => {
    const options = { protocol: "HTTP/2", pair, clientAuthority: authority?.ca ?? "", answer: () => {} } as const;
    const server = await LoopbackServer.start(options);
    toStop.push(server);
    expect(await failure(client(server.url).send(get()))).toMatchObject({
      reason: "TLS",
      message: `${server.url}: it does not accept our client certificate`,
      hint: expect.stringContaining("client authority"),
    });
  });

  test("that the server resets fails with an error", async () => {
    const server = await serving("HTTP/2", (asked) => {
      if ("stream" in asked) asked.stream.close(2);
    });
    expect(await failure(client(server.url).send(get()))).toMatchObject({ reason: "Reset" });
  });
});

describe.skipIf(!openssl)("watches beyond the server's limit of streams", () => {
  /** With a limit of 8, a connection takes six watches. */
  const limit = { maxConcurrentStreams: 8 };

  /** A server that never ends a watch, and says on which connection a request came. */
  async function site() {
    const watches = new Map<string, Answering>();
    const server = await serving(
      "HTTP/2",
      (asked, answering) => {
        const { remotePort } = asked.socket;
        answering.writeHead(asked.url === "/refused" ? 401 : 200, { "x-connection": String(remotePort) });
        if (!asked.url?.includes("watch=")) return void answering.end("x");
        watches.set(asked.url, answering);
        answering.write("begun");
      },
      limit,
    );
    const { send, ...more } = client(server.url);
    const watch = (i: number): Promise<HttpResponse> => send(get(`/pods?watch=true&board=${i}`));
    const opened = (from: number, to: number): Promise<HttpResponse[]> =>
      Promise.all(Array.from({ length: to - from }, (_, i) => watch(from + i)));
    const end = (i: number): void => void watches.get(`/pods?watch=true&board=${i}`)?.end("ended");
    /** The connection that a short request takes now. */
    const taken = async (path = "/"): Promise<string | undefined> => {
      const response = await send(get(path));
      await textOf(response);
      return connectionOf(response);
    };
    return { server, send, opened, end, taken, ...more };
  }

  const connectionOf = ({ headers }: HttpResponse): string | undefined => headers["x-connection"];

  test("open additional connections, and short requests never wait behind them", async () => {
    const { server, opened, taken } = await site();
    await opened(0, 6);
    await taken();
    expect(server.connections).toBe(1);
    await opened(6, 7);
    expect(server.connections).toBe(2);
    const rest = await opened(7, 30);
    expect(server.connections).toBe(5);
    expect(await taken()).toBe(connectionOf(rest[22] as HttpResponse));
  });

  test("opened in a burst are also spread, even if the server's limit is not known yet", async () => {
    const { server, opened, taken } = await site();
    const answers = await opened(0, 20);
    await taken();
    const perConnection = Map.groupBy(answers, connectionOf);
    expect([...perConnection.values()].map(({ length }) => length)).toEqual([6, 6, 6, 2]);
    expect(server.connections).toBe(4);
  });

  test("leave streams for hanging writes and for the renewal among them", async () => {
    const hanging: Answering[] = [];
    const server = await serving(
      "HTTP/2",
      (asked, answering) => {
        answering.writeHead(200);
        if (asked.url === "/lease") answering.end("renewed");
        else if (asked.url?.includes("watch=")) answering.write("begun");
        else hanging.push(answering);
      },
      limit,
    );
    const { send } = client(server.url);
    for (let i = 0; i < 6; i++) await send(get(`/pods?watch=true&board=${i}`));
    await send(get("/hangs"));
    expect(await textOf(await send(get("/lease")))).toBe("renewed");
    expect(server.connections).toBe(1);
  });

  test("use freed streams before they open another connection", async () => {
    const { server, opened, taken, end } = await site();
    const first = await opened(0, 6);
    const [second] = await opened(6, 12);
    end(0);
    await textOf(first[0] as HttpResponse);
    expect(await taken()).toBe(connectionOf(second as HttpResponse));
    const [last] = await opened(12, 13);
    // Reads and writes follow: they prove the history of the server that new watches reach.
    expect([connectionOf(last as HttpResponse), await taken()]).toEqual(
      [first[0], first[0]].map((answer) => connectionOf(answer as HttpResponse)),
    );
    expect(server.connections).toBe(2);
  });

  test("let a connection end once they no longer use it", async () => {
    const { server, opened, taken, end, clock } = await site();
    const answers = await opened(0, 7);
    for (let i = 0; i < 6; i++) end(i);
    for (const answer of answers.slice(0, 6)) await textOf(answer);
    await taken();
    const { size } = server.sockets;
    await clock.advance("30s");
    expect(await taken()).toBe(connectionOf(answers[6] as HttpResponse));
    await eventually(() => server.sockets.size === 1);
    expect(size).toBe(2);
  });

  test("continue when another connection is lost, and the lost watches are opened elsewhere", async () => {
    const { server, opened } = await site();
    const [first, ...rest] = await opened(0, 7);
    const lost = failure(textOf(first as HttpResponse));
    const kept = textOf(rest[5] as HttpResponse);
    let ended = false;
    void kept.catch(() => {}).then(() => (ended = true));
    for (const socket of server.sockets) {
      if (String(socket.remotePort) === connectionOf(first as HttpResponse)) socket.destroy();
    }
    expect(await lost).toMatchObject({ reason: "Reset" });
    await opened(20, 25);
    expect([ended, server.connections, server.sockets.size]).toEqual([false, 2, 1]);
  });

  test.each([
    ["refused credentials", ({ taken }: Awaited<ReturnType<typeof site>>) => taken("/refused")],
    ["renewed credentials", ({ transport }: Awaited<ReturnType<typeof site>>) => transport.renew()],
    [
      "outdated credentials",
      ({ credentials }: Awaited<ReturnType<typeof site>>) => {
        credentials.outdated = true;
      },
    ],
  ])("leave no connection behind on which a new request could be sent with %s", async (_, replace) => {
    const parts = await site();
    const answers = await parts.opened(0, 7);
    await replace(parts);
    const former = new Set(answers.map(connectionOf));
    const present = await parts.taken();
    parts.credentials.outdated = false;
    expect(former.has(present)).toBe(false);
    const [next] = await parts.opened(7, 8);
    expect([connectionOf(next as HttpResponse), parts.server.connections]).toEqual([present, 3]);
  });

  test("wait if an additional connection cannot be opened, but no other request waits", async () => {
    const { server, send, opened, taken } = await site();
    await opened(0, 6);
    server.deafen();
    const watch = failure(send(get("/pods?watch=true&board=6")));
    expect(await taken()).toBeDefined();
    const error = await watch;
    expect(error).toBeInstanceOf(NoFurtherConnection);
    expect(error).toMatchObject({ reason: "Reset" });
    expect(await taken()).toBeDefined();
  });

  test("are logged once and retried with pauses if no additional connection can be opened", async () => {
    const { server, send, opened, taken, clock, log } = await site();
    await opened(0, 6);
    const hear = server.deafen();
    for (let i = 0; i < 120; i++) {
      expect(await failure(send(get("/pods?watch=true&board=6")))).toBeInstanceOf(NoFurtherConnection);
      await taken();
      await clock.advance("1s");
    }
    // At 0, 5, 15, 35 and 75 s.
    expect(server.connections).toBe(6);
    hear();
    await clock.advance("60s");
    await opened(6, 8);
    expect(server.connections).toBe(7);
    expect(log.lines.filter(({ level }) => level !== "debug")).toMatchObject([
      {
        level: "warn",
        message: "additional connection not opened",
        fields: { reason: expect.stringContaining(server.url) },
      },
      { level: "info", message: "additional connection opened" },
    ]);
  });
});

describe.skipIf(!openssl)("a server that responds to PINGs but not to requests", () => {
  /** Answers with the number of the connection, except on those in `hangs`. */
  async function balanced(more: { maxConcurrentStreams?: number } = {}) {
    const numbers = new Map<unknown, number>();
    const hangs = { on: (_connection: number): boolean => false };
    const server = await serving(
      "HTTP/2",
      (asked, answering) => {
        const session = "stream" in asked ? asked.stream.session : undefined;
        const number = numbers.get(session) ?? numbers.size + 1;
        numbers.set(session, number);
        asks.push(asked.url ?? "");
        if (asked.url === "/slow") slow.push(answering);
        const isOpened = asked.url?.includes("cached") ?? false;
        if (hangs.on(number) && !isOpened) return;
        answering.writeHead(200, { "x-connection": String(number) });
        if (asked.url?.includes("watch=")) watches.push(answering);
        else if (asked.url === "/slow") answering.write("begun");
        else answering.end("x");
      },
      more,
    );
    const asks: string[] = [];
    const watches: Answering[] = [];
    const slow: Answering[] = [];
    const parts = client(server.url);
    const { send, clock } = parts;
    /** The connection that answers a request; undefined if none does within ten seconds. */
    async function answers(path = "/"): Promise<string | undefined> {
      // As the client and the elector do it: the caller's own limit, which comes before the transport's.
      const stop = new AbortController();
      const timer = clock.after(10_000, () => stop.abort(new TransportError("Timeout", "no response within 10s")));
      const before = asks.length;
      let response: HttpResponse | Error | undefined;
      send(get(path, { signal: stop.signal })).then(
        (answer) => (response = answer),
        (error) => (response = error),
      );
      await eventually(() => response !== undefined || asks.length > before);
      for (let turn = 0; response === undefined && turn < 20; turn++) await realTime(2);
      if (response === undefined) await clock.advance("10s");
      timer.cancel();
      await eventually(() => response !== undefined);
      // The PING's answer.
      await realTime(20);
      if (response === undefined || response instanceof Error) return undefined;
      if (path === "/") await textOf(response);
      return response.headers["x-connection"];
    }
    return { ...parts, server, hangs, asks, watches, slow, answers };
  }

  const realTime = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  test("is abandoned after two requests without a response; its watches continue", async () => {
    const { send, answers, hangs, watches, server } = await balanced();
    const watch = await send(get("/pods?watch=true"));
    hangs.on = (connection) => connection === 1;
    expect([await answers(), await answers(), await answers()]).toEqual([undefined, undefined, "2"]);
    expect(await answers()).toBe("2");
    watches[0]?.end("went on");
    expect(await textOf(watch)).toBe("went on");
    await eventually(() => server.sockets.size === 1);
  });

  test("is no longer used by any request", async () => {
    const { send, answers, hangs } = await balanced();
    hangs.on = (connection) => connection === 1;
    expect([await answers(), await answers()]).toEqual([undefined, undefined]);
    const together = await Promise.all(["/a", "/b", "/c"].map((path) => send(get(path))));
    expect(together.map(({ headers }) => headers["x-connection"])).toEqual(["2", "2", "2"]);
  });

  test("makes its open requests fail once it is abandoned", async () => {
    const { send, answers, hangs, asks } = await balanced();
    const watch = await send(get("/pods?watch=true"));
    let ended = false;
    void failure(textOf(watch)).then(() => (ended = true));
    hangs.on = (connection) => connection === 1;
    expect(await answers()).toBeUndefined();
    const read = failure(send(get("/lease")));
    await eventually(() => asks.includes("/lease"));
    expect(await answers()).toBeUndefined();
    expect(await read).toMatchObject({
      reason: "Reset",
      message: expect.stringContaining("does not respond to requests"),
    });
    expect([await answers(), ended]).toEqual(["2", false]);
  });

  test("is abandoned even if it still opens watches from its cache", async () => {
    const { answers, hangs } = await balanced();
    hangs.on = (connection) => connection === 1;
    expect(await answers()).toBeUndefined();
    expect(await answers("/pods?watch=true&cached")).toBe("1");
    expect([await answers(), await answers()]).toEqual([undefined, "2"]);
  });

  test("is abandoned if it no longer permits any streams", async () => {
    const { send, clock, hangs, server, answers } = await balanced();
    expect(await answers()).toBe("1");
    for (const session of server.sessions) session.settings({ maxConcurrentStreams: 0 });
    await realTime(30);
    hangs.on = () => false;
    for (let i = 0; i < 2; i++) {
      const waiting = failure(send(get("/", { timeout: 10_000 })));
      await clock.advance("10s");
      expect(await waiting).toMatchObject({ reason: "Timeout" });
    }
    await realTime(20);
    expect(await answers()).toBe("2");
  });

  test("is abandoned for another open connection, if there is one", async () => {
    const { send, answers, hangs, server } = await balanced({ maxConcurrentStreams: 8 });
    for (let i = 0; i < 7; i++) await send(get(`/pods?watch=true&board=${i}`));
    expect(await answers()).toBe("2");
    hangs.on = (connection) => connection === 2;
    expect([await answers(), await answers(), await answers()]).toEqual([undefined, undefined, "1"]);
    expect(server.connections).toBe(2);
  });

  test("keeps the connection if other requests get responses in the meantime, or a long response arrives", async () => {
    const { send, answers, hangs, slow, server } = await balanced();
    const long = await send(get("/slow"));
    const reading = textOf(long);
    hangs.on = () => true;
    for (let i = 0; i < 4; i++) {
      expect(await answers()).toBeUndefined();
      slow[0]?.write(", more");
      await realTime(20);
    }
    hangs.on = () => false;
    expect(await answers()).toBe("1");
    slow[0]?.end(", ended");
    expect(await reading).toContain(", ended");
    expect(server.connections).toBe(1);
  });

  test("costs few connections while all others are as bad, and is used again immediately once it responds", async () => {
    const { answers, hangs, server, clock } = await balanced();
    hangs.on = () => true;
    const begun = clock.now().mono;
    while (clock.now().mono - begun < 600_000) await answers();
    expect(server.connections).toBeGreaterThan(5);
    expect(server.connections).toBeLessThan(15);
    hangs.on = () => false;
    const present = server.connections;
    expect(Number(await answers())).toBeGreaterThanOrEqual(present);
  });
});
