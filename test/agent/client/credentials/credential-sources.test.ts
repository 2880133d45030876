import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dump } from "js-yaml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { noopLogger } from "../../../../agent/base/logger.ts";
import { resolvedCredentials } from "../../../../agent/client/credentials/credential-resolution.ts";
import type { Access } from "../../../../agent/client/credentials/credentials.ts";
import { HttpTransport } from "../../../../agent/client/transport/http-transport.ts";
import { defaultHealth } from "../../../../agent/client/transport/http2-wire.ts";
import { TransportError } from "../../../../agent/client/transport/transport-error.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { eventually, LoopbackServer } from "../loopback-server.ts";

let folder: string;
const toStop: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "siteward-sources-"));
});
afterEach(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop();
  rmSync(folder, { recursive: true });
});

interface Reply {
  readonly status: number;
  readonly type: string;
}
const json = "application/json";
const well: Reply = { status: 200, type: json };

/** Answers everything in the same way, with the token that it was shown. */
async function serverThat(reply: Reply) {
  const server = await LoopbackServer.start({
    protocol: "HTTP/1.1",
    answer: (asked, answering) => {
      answering.writeHead(reply.status, { "content-type": reply.type });
      answering.end(`${asked.headers.authorization}`);
    },
  });
  toStop.push(() => server.stop());
  return server;
}

const put = (name: string, text: string): void => writeFileSync(join(folder, name), text, { mode: 0o600 });
const config = (server: string, user: object): void =>
  put(
    "config",
    dump({
      clusters: [{ name: "site", cluster: { server } }],
      users: [{ name: "agent", user }],
      contexts: [{ name: "here", context: { cluster: "site", user: "agent" } }],
      "current-context": "here",
    }),
  );

/** An agent with that kubeconfig. `ask` sends a request and returns what came of it. */
function agent() {
  const clock = new FakeClock();
  const ambient = { clock, random: new SeededRandom(), log: noopLogger };
  const credentials = resolvedCredentials(ambient, {
    api: { kubeconfig: join(folder, "config"), context: undefined },
    asker: "agent",
    places: { env: { PATH: process.env.PATH }, etc: folder },
  });
  const counts = { reads: 0 };
  const counted = {
    access: (): Promise<Access> => {
      counts.reads++;
      return credentials.access();
    },
    waitsFor: () => credentials.waitsFor?.(),
  };
  const transport = new HttpTransport(ambient, {
    credentials: counted,
    proxies: { proxy: undefined, except: undefined },
    health: defaultHealth,
    timeout: 30_000,
  });
  toStop.push(() => transport.close());
  const ask = async (timeout = 30_000, signal = new AbortController().signal): Promise<string> => {
    const { status, body } = await transport.send({ method: "GET", path: "/", headers: {}, signal, timeout });
    let text = "";
    for await (const piece of body) text += Buffer.from(piece).toString();
    return `${status} ${text}`;
  };
  return { clock, counts, ask };
}

describe("a kubeconfig that is corrected while the agent runs", () => {
  test.each<[string, Reply]>([
    ["does not know the path", { status: 404, type: json }],
    ["does not allow the user anything", { status: 403, type: json }],
    ["shows every user its web page", { status: 200, type: "text/html" }],
    ["redirects every user", { status: 302, type: "text/html" }],
  ])("is applied within ten seconds if the server %s", async (_, reply) => {
    const [wrong, right] = [await serverThat(reply), await serverThat(well)];
    config(wrong.url, { token: "first" });
    const { ask, clock } = agent();
    expect(await ask()).toBe(`${reply.status} Bearer first`);
    config(right.url, { token: "second" });
    await clock.advance("9999ms");
    expect(await ask()).toBe(`${reply.status} Bearer first`);
    await clock.advance("1ms");
    expect(await ask()).toBe("200 Bearer second");
  });

  test("is applied even if only a file that it names was replaced", async () => {
    const server = await serverThat({ status: 403, type: json });
    put("token", "first");
    config(server.url, { tokenFile: "token" });
    const { ask, clock } = agent();
    await ask();
    put("token", "the second");
    await clock.advance("10s");
    expect(await ask()).toBe("403 Bearer the second");
  });

  test("is not read while responses are as expected", async () => {
    const server = await serverThat(well);
    config(server.url, { token: "first" });
    const { ask, clock, counts } = agent();
    await ask();
    config(server.url, { token: "second" });
    await clock.advance("1h");
    expect(await ask()).toBe("200 Bearer first");
    expect(counts.reads).toBe(1);
  });

  test("is not read again while unchanged, and one connection is enough", async () => {
    const server = await serverThat({ status: 404, type: json });
    config(server.url, { token: "first" });
    const { ask, clock, counts } = agent();
    for (let i = 0; i < 20; i++) {
      await ask();
      await clock.advance("6s");
    }
    expect([counts.reads, server.connections]).toEqual([1, 1]);
  });
});

describe("a credential plugin", () => {
  const plugin = (name: string, script: string): object => {
    put(name, `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o700);
    return {
      exec: { apiVersion: "client.authentication.k8s.io/v1", command: `./${name}`, interactiveMode: "Never" },
    };
  };
  const failure = (answer: Promise<unknown>): Promise<unknown> =>
    answer.then(
      (text) => text,
      (error: unknown) => error,
    );
  const isThere = (name: string) => eventually(() => existsSync(join(folder, name)));
  const hanging = (): object => plugin("hanging", `echo $$ > ${folder}/pid\nexec sleep 1000`);

  test("that hangs is named in the error of each waiting request, with the time that it has been running", async () => {
    config("http://127.0.0.1:1", hanging());
    const { ask, clock } = agent();
    const [first] = [failure(ask(2000)), await isThere("pid")];
    await clock.advance("2s");
    const sentence = `kubeconfig ${folder}/config: user "agent": the credential plugin ${folder}/hanging has not answered`;
    expect(await first).toMatchObject({ name: "CredentialsError", message: `${sentence} for at least 2s` });
    await clock.advance("3s");
    const second = failure(ask(2000));
    await clock.advance("2s");
    expect(await second).toMatchObject({
      message: `${sentence} for at least 4s`,
      hint: expect.stringContaining("by hand"),
    });
    await clock.advance("60s");
  });

  test("that hangs is not blamed if the caller aborted, or if another limit expired", async () => {
    config("http://127.0.0.1:1", hanging());
    const { ask, clock } = agent();
    const gone = new AbortController();
    const left = failure(ask(2000, gone.signal));
    await isThere("pid");
    gone.abort(new Error("the agent ends"));
    expect(await left).toMatchObject({ message: "the agent ends" });
    const bounded = new AbortController();
    const late = failure(ask(2000, bounded.signal));
    bounded.abort(new TransportError("Timeout", "no response within 1s"));
    expect(await late).toMatchObject({ name: "CredentialsError" });
    await clock.advance("60s");
  });

  test("that hangs does not delay a corrected kubeconfig, and is stopped", async () => {
    const right = await serverThat(well);
    config("http://127.0.0.1:1", hanging());
    const { ask, clock } = agent();
    const first = failure(ask());
    await isThere("pid");
    const process = Number(readFileSync(join(folder, "pid"), "utf8"));
    config(right.url, { token: "second" });
    await clock.advance("10s");
    expect(await first).toMatchObject({
      message: expect.stringContaining("stopped because the kubeconfig was changed"),
    });
    expect(await ask()).toBe("200 Bearer second");
    await eventually(() => !existsSync(`/proc/${process}`));
  });

  test("that returned a credential once and then hangs does not delay a corrected kubeconfig either while the connection is open", async () => {
    const right = await serverThat(well);
    const status = { token: "first", expirationTimestamp: "2026-01-01T00:01:00Z" };
    const credential = { kind: "ExecCredential", apiVersion: "client.authentication.k8s.io/v1", status };
    const script = `test -e ${folder}/once && { echo > ${folder}/again; exec sleep 1000; }
echo > ${folder}/once
echo '${JSON.stringify(credential)}'`;
    config(right.url, plugin("forgetful", script));
    const { ask, clock } = agent();
    expect(await ask()).toBe("200 Bearer first");
    await clock.advance("61s");
    const waiting = failure(ask(5000));
    await isThere("again");
    config(right.url, { token: "second" });
    await clock.advance("10s");
    expect(await waiting).toMatchObject({ name: "CredentialsError" });
    expect(await ask()).toBe("200 Bearer second");
  });

  test("that fails each time while a connection is open does not prevent a corrected kubeconfig from being applied", async () => {
    const right = await serverThat(well);
    const status = { token: "first", expirationTimestamp: "2026-01-01T00:01:00Z" };
    const credential = { kind: "ExecCredential", apiVersion: "client.authentication.k8s.io/v1", status };
    const script = `test -e ${folder}/once && exit 3\necho > ${folder}/once\necho '${JSON.stringify(credential)}'`;
    config(right.url, plugin("failing", script));
    const { ask, clock } = agent();
    await ask();
    await clock.advance("61s");
    expect(await failure(ask())).toMatchObject({ message: expect.stringContaining("ended with status 3") });
    config(right.url, { token: "second" });
    expect(await ask()).toBe("200 Bearer second");
  });
});

describe("a token", () => {
  test.each([
    ["with a line end", "secret\n"],
    ["with blanks around it", "  secret \t\r\n\n"],
  ])("%s is sent without it, whether it comes from the kubeconfig or from a file", async (_, text) => {
    const server = await serverThat(well);
    config(server.url, { token: text });
    expect(await agent().ask()).toBe("200 Bearer secret");
    put("token", text);
    config(server.url, { tokenFile: "token" });
    expect(await agent().ask()).toBe("200 Bearer secret");
  });

  test.each([
    ["two lines", "sec\nret"],
    ["a null", "sec\0ret"],
    ["a tab", "sec\tret"],
    ["a typographic quotation mark", "\u201csecret"],
  ])("with %s in it is refused with a one-line message", async (_, text) => {
    const refusal = (where: string) => ({
      name: "CredentialsError",
      message: `${where} contains a line break or another character that a token cannot have`,
      hint: expect.stringContaining("Copy the token again"),
    });
    config("http://127.0.0.1:1", { token: text });
    await expect(agent().ask()).rejects.toMatchObject(refusal(`kubeconfig ${folder}/config: user "agent": token`));
    put("token", text);
    config("http://127.0.0.1:1", { tokenFile: "token" });
    await expect(agent().ask()).rejects.toMatchObject(refusal(`token file ${folder}/token`));
  });
});
