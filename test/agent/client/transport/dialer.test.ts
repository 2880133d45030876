import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Access, TlsAccess } from "../../../../agent/client/credentials/credentials.ts";
import { Dialer } from "../../../../agent/client/transport/dialer.ts";
import type { ProxySettings } from "../../../../agent/client/transport/proxy.ts";
import { plainAccess } from "../../../support/kube/plain-access.ts";
import { Authority, hasOpenssl, type Pair } from "../certificates.ts";
import { eventually, LoopbackServer } from "../loopback-server.ts";

const no: ProxySettings = { proxy: undefined, except: undefined };
function accessTo(url: string, tls: Partial<TlsAccess> = {}, proxy?: string): Access {
  const plain = plainAccess(url);
  return { ...plain, tls: { ...plain.tls, ...tls }, proxy: proxy === undefined ? undefined : new URL(proxy) };
}

async function dial(access: Access, proxies = no, signal = new AbortController().signal): Promise<string> {
  const dialer = new Dialer(proxies);
  try {
    const socket = await dialer.dial(access, ["h2", "http/1.1"], signal);
    const protocol = "alpnProtocol" in socket ? `TLS ${socket.alpnProtocol}` : "TCP";
    socket.destroy();
    return protocol;
  } catch (error) {
    if (!(error instanceof Error && "reason" in error)) throw error;
    const hint = "hint" in error && typeof error.hint === "string" ? ` | ${error.hint}` : "";
    return `${error.reason} | ${error.message}${hint}`;
  }
}

const toStop: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of toStop.splice(0)) await part.stop();
});

async function served(protocol: "HTTP/2" | "HTTPS/1.1" | "HTTP/1.1", pair?: Pair): Promise<LoopbackServer> {
  const server = await LoopbackServer.start({ protocol, pair, answer: (_, answering) => void answering.end("x") });
  toStop.push(server);
  return server;
}

test("a port without a listener, and an unknown host, are errors", async () => {
  const server = await served("HTTP/1.1");
  const { url, port } = server;
  await server.stop();
  toStop.length = 0;
  expect(await dial(accessTo(url))).toBe(`ConnectionRefused | ${url}: the connection was refused`);
  expect(await dial(accessTo(`https://no-such-host.invalid:${port}`))).toMatch(
    /^UnknownHost \| https:\/\/no-such-host.invalid:\d+: (its host name is unknown|no name server responds)/,
  );
});

test("the signal ends the wait for a connection, and closes the socket", async () => {
  const dialer = new Dialer(no);
  const stop = new AbortController();
  // A documentation address (RFC 5737): nothing answers there, or there is no way to it.
  const dialling = dialer
    .dial(accessTo("http://192.0.2.1:6443"), [], stop.signal)
    .catch((error: Error) => error.message);
  stop.abort(new Error("stopped"));
  expect(await dialling).toBe("stopped");
});

describe.skipIf(!hasOpenssl())("TLS", () => {
  let authority: Authority;
  let other: Authority;
  let pair: Pair;
  beforeAll(() => {
    authority = new Authority();
    other = new Authority("another authority");
    pair = authority.issue("api");
  });
  afterAll(() => {
    authority.remove();
    other.remove();
  });

  test("HTTP/2 is negotiated if the server supports it", async () => {
    const ca = authority.ca;
    expect(await dial(accessTo((await served("HTTP/2", pair)).url, { ca }))).toBe("TLS h2");
    expect(await dial(accessTo((await served("HTTPS/1.1", pair)).url, { ca }))).toBe("TLS http/1.1");
    expect(await dial(accessTo((await served("HTTP/1.1")).url))).toBe("TCP");
  });

  test("a certificate of another authority, or none, is refused", async () => {
    const { url } = await served("HTTP/2", pair);
    const sentence = `TLS | ${url}: its certificate is signed by an authority that this board does not trust | Put the certificate authority`;
    expect(await dial(accessTo(url, { ca: other.ca }))).toContain(sentence);
    expect(await dial(accessTo(url))).toContain(sentence);
    expect(await dial(accessTo(url, { verify: false }))).toBe("TLS h2");
  });

  test("a server's certificate that has expired, or is not yet valid, is refused", async () => {
    const expired = await served("HTTP/2", authority.issue("api", { to: "240601000000Z" }));
    expect(await dial(accessTo(expired.url, { ca: authority.ca }))).toMatch(
      /its certificate has expired \| Renew the certificate/,
    );
    const early = await served("HTTP/2", authority.issue("api", { from: "400101000000Z" }));
    expect(await dial(accessTo(early.url, { ca: authority.ca }))).toMatch(
      /its certificate is not yet valid \| This board's clock is behind/,
    );
  });

  test("a certificate for other names is refused with the name that it is for", async () => {
    const { url } = await served("HTTP/2", pair);
    const ca = authority.ca;
    expect(await dial(accessTo(url, { ca, serverName: "other.site.test" }))).toContain("does not cover this address");
    expect(await dial(accessTo(url, { ca, serverName: "api.site.test" }))).toBe("TLS h2");
  });

  test("a port that speaks plain HTTP is reported", async () => {
    const { port } = await served("HTTP/1.1");
    expect(await dial(accessTo(`https://127.0.0.1:${port}`))).toMatch(/^TLS \| .*it does not speak TLS on this port/);
  });

  test("a server that requires a client certificate, or a different one, is reported", async () => {
    const server = await LoopbackServer.start({
      protocol: "HTTP/2",
      pair,
      clientAuthority: authority.ca,
      answer: () => {},
    });
    toStop.push(server);
    const { cert, key } = authority.issue("agent");
    expect(await dial(accessTo(server.url, { ca: authority.ca, certificate: cert, key }))).toBe("TLS h2");
  });

  describe("a proxy", () => {
    let proxy: Server;
    let asked: string[];
    beforeAll(async () => {
      proxy = createServer();
      proxy.on("connect", ({ url = "", headers }, near, head) => {
        asked.push(`${url} ${headers["proxy-authorization"] ?? "anonymous"}`);
        if (url.startsWith("forbidden")) return void near.end("HTTP/1.1 403 Forbidden\r\n\r\n");
        if (headers["proxy-authorization"] === undefined) return void near.end("HTTP/1.1 407 Login\r\n\r\n");
        const far = connect(Number(url.split(":")[1]), "127.0.0.1", () => {
          near.write("HTTP/1.1 200 OK\r\n\r\n");
          far.write(head);
          far.pipe(near).pipe(far);
        });
        far.on("error", () => near.destroy());
        near.on("error", () => far.destroy());
      });
      await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    });
    afterAll(() => proxy.close());
    const proxyUrl = (login = "agent:p%40ss@") => `http://${login}127.0.0.1:${(proxy.address() as AddressInfo).port}`;

    test("is taken from the kubeconfig first and then from the environment, except for hosts in NO_PROXY", async () => {
      asked = [];
      const { url, port } = await served("HTTP/2", pair);
      const ca = authority.ca;
      const through = `http://localhost.site.test`;
      const direct = accessTo(url, { ca });
      const named = accessTo(`https://api.site.test:${port}`, { ca });
      expect(await dial(named, { proxy: proxyUrl(), except: undefined })).toBe("TLS h2");
      expect(asked).toEqual([`api.site.test:${port} Basic ${Buffer.from("agent:p@ss").toString("base64")}`]);
      expect(await dial(direct, { proxy: through, except: undefined })).toBe("TLS h2");
      const stated = accessTo(`https://api.site.test:${port}`, { ca }, proxyUrl());
      expect(await dial(stated, { proxy: "http://127.0.0.1:1", except: "api.site.test" })).toBe("TLS h2");
      expect(asked).toHaveLength(2);
    });

    test("that refuses causes an error with its reason and a hint", async () => {
      asked = [];
      const { host } = new URL(proxyUrl());
      expect(await dial(accessTo("https://api.site.test:6443", {}, proxyUrl("")))).toBe(
        `Proxy | proxy ${host} refuses to connect to api.site.test:6443 (HTTP 407) | Put the proxy's user name and password into its URL.`,
      );
      expect(await dial(accessTo("https://forbidden.test:6443", {}, proxyUrl()))).toBe(
        `Proxy | proxy ${host} refuses to connect to forbidden.test:6443 (HTTP 403) | Permit it in the proxy's configuration.`,
      );
      expect(await dial(accessTo("https://api.site.test:6443", {}, "http://127.0.0.1:1"))).toBe(
        "ConnectionRefused | https://api.site.test:6443 by proxy 127.0.0.1:1: the connection was refused",
      );
    });
  });

  test("bytes that crossed the link are counted, even after the connection is gone", async () => {
    const { url } = await served("HTTP/2", pair);
    const dialer = new Dialer(no);
    const socket = await dialer.dial(accessTo(url, { ca: authority.ca }), ["h2"], new AbortController().signal);
    const { up, down } = dialer.bytes();
    expect(up).toBeGreaterThan(200);
    expect(down).toBeGreaterThan(500);
    socket.destroy();
    await eventually(() => socket.closed);
    expect(dialer.bytes().down).toBeGreaterThanOrEqual(down);
    expect(dialer.bytes().up).toBeGreaterThanOrEqual(up);
  });
});
