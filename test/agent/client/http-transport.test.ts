import { gzipSync } from "node:zlib";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { silent } from "../../../agent/base/logger.ts";
import type { Access, Credentials, TlsAccess } from "../../../agent/client/credentials.ts";
import { HttpTransport } from "../../../agent/client/http-transport.ts";
import { defaultHealth } from "../../../agent/client/http2-wire.ts";
import type { HttpRequest, HttpResponse } from "../../../agent/client/transport.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { Authority, hasOpenssl } from "./certificates.ts";
import { type Answering, type Asked, eventually, LocalServer, type Protocol, Relay } from "./local-server.ts";

const openssl = hasOpenssl();
const authority = openssl ? new Authority() : undefined;
const pair = authority?.issue("api");
afterAll(() => authority?.remove());

const toStop: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of toStop.splice(0).reverse()) await part.stop();
});

class FixedCredentials implements Credentials {
  readonly server: URL;
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
  const transport = new HttpTransport(
    { clock, random: new SeededRandom(), log: silent },
    {
      credentials,
      proxies: { proxy: undefined, except: undefined, ...proxies },
      health: defaultHealth,
      timeout: 30_000,
    },
  );
  toStop.push({ stop: async () => transport.close() });
  return { clock, credentials, transport, send: transport.send };
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
  const server = await LocalServer.start({ protocol, pair, answer, ...more });
  toStop.push(server);
  return server;
}

const protocols: Protocol[] = openssl ? ["HTTP/2", "HTTPS/1.1", "HTTP/1.1"] : ["HTTP/1.1"];

describe.each(protocols)("over %s", (protocol) => {
  test("a request arrives as it was meant, and so does its answer", async () => {
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

  test("what a deletion depends on arrives with it, and the next request on the connection is read as one", async () => {
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

  test("requests one after the other share a connection; credentials are read once for it", async () => {
    const server = await serving(protocol, (_, answering) => void answering.end("x"));
    const { send, credentials } = client(server.url);
    for (let i = 0; i < 5; i++) await textOf(await send(get()));
    expect(server.connections).toBe(1);
    expect(credentials.reads).toBe(1);
  });

  test("the guard is asked once the connection is up; what it throws keeps the request from being sent", async () => {
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

  test("a compressed answer is unpacked, and counted as it came", async () => {
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
  ])("an answer that is %s is all there, also for one who begins to read it late", async (_, text, isCompressed) => {
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

  test("a compressed answer that is cut short is no whole answer", async () => {
    const server = await serving(protocol, (_, answering) => {
      answering.writeHead(200, { "content-encoding": "gzip" });
      answering.end(gzipSync("x".repeat(1000)).subarray(0, 20));
    });
    const { send } = client(server.url);
    expect(await failure(textOf(await send(get())))).toMatchObject({ name: "TransportError", reason: "Reset" });
  });

  test("an aborted request ends at once, with the signal's reason, and the server hears of it", async () => {
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

  test("leaving the loop over an answer ends the exchange", async () => {
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

  test("an answer that does not begin in time is given up; one that has begun may last", async () => {
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
    expect(await silent).toMatchObject({ name: "TransportError", reason: "Timeout", message: "no answer within 10s" });
    expect(await textOf(slow)).toBe("begun, ended");
  });

  test("a connection that breaks in the middle of an answer is an error, not its end", async () => {
    const server = await serving(protocol, (_, answering) => {
      answering.writeHead(200);
      answering.write("half");
      setTimeout(() => server.cut(), 30);
    });
    const { send } = client(server.url);
    expect(await failure(textOf(await send(get())))).toMatchObject({ name: "TransportError", reason: "Reset" });
  });

  test("a server that restarts is found again", async () => {
    const answer = (_: Asked, answering: Answering) => void answering.end("x");
    const server = await LocalServer.start({ protocol, pair, answer });
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

  test("401 lets the next request read the credentials anew", async () => {
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

  test("renewed, the next request reads the credentials anew; what is under way goes on", async () => {
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

  test("many requests at once all get their answers", async () => {
    const server = await serving(protocol, (asked, answering) => void answering.end(`${asked.url}`));
    const { send } = client(server.url);
    const paths = Array.from({ length: 200 }, (_, i) => `/${i}`);
    expect(await Promise.all(paths.map(async (path) => textOf(await send(get(path)))))).toEqual(paths);
    if (protocol === "HTTP/2") expect(server.connections).toBe(1);
  });

  test("nothing listens to a signal any more once an exchange is over", async () => {
    const server = await serving(protocol, (_, answering) => void answering.end("x"));
    const { send, clock } = client(server.url);
    const stop = new AbortController();
    let listeners = 0;
    const { signal } = stop;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    const heard = new Set<unknown>();
    signal.addEventListener = (type: string, listener: never, options?: never) => {
      heard.add(listener);
      listeners = Math.max(listeners, heard.size);
      add(type, listener, options);
    };
    signal.removeEventListener = (type: string, listener: never, options?: never) => {
      heard.delete(listener);
      remove(type, listener, options);
    };
    for (let i = 0; i < 5; i++) await textOf(await send(get("/", { signal })));
    await eventually(() => heard.size === 0);
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

  test("on which nothing is said lives as long as pings are answered", async () => {
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

  test("that is dead is noticed after 45 s of silence, and the next request makes a new one", async () => {
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

  test("that gave no answer in time is asked at once", async () => {
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

  test("costs no ping while no request is open", async () => {
    const { send, clock, transport } = await overRelay((_, answering) => void answering.end("x"));
    await textOf(await send(get()));
    await new Promise((resolve) => setTimeout(resolve, 30));
    const before = transport.bytes();
    await pass(clock, 3600, 0);
    expect(transport.bytes()).toEqual(before);
  });

  test("from which the server says goodbye ends what runs and takes nothing new", async () => {
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

  test("never holds back a request after its guard was asked: it waits for the server's permission first", async () => {
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

  test("is replaced when the credential plugin gave another certificate", async () => {
    const server = await serving("HTTP/2", (_, answering) => void answering.end("x"));
    const { send, credentials } = client(server.url);
    await textOf(await send(get()));
    credentials.outdated = true;
    expect(await textOf(await send(get()))).toBe("x");
    expect([server.connections, credentials.reads]).toEqual([2, 2]);
  });

  test("to a server that does not accept our certificate says so, and what to do", async () => {
    const options = { protocol: "HTTP/2", pair, clientAuthority: authority?.ca ?? "", answer: () => {} } as const;
    const server = await LocalServer.start(options);
    toStop.push(server);
    expect(await failure(client(server.url).send(get()))).toMatchObject({
      reason: "TLS",
      message: `${server.url}: it does not accept our client certificate`,
      hint: expect.stringContaining("client authority"),
    });
  });

  test("that the server resets answers with an error", async () => {
    const server = await serving("HTTP/2", (asked) => {
      if ("stream" in asked) asked.stream.close(2);
    });
    expect(await failure(client(server.url).send(get()))).toMatchObject({ reason: "Reset" });
  });
});
