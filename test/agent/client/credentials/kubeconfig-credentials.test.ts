import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { dump } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noopLogger } from "../../../../agent/base/logger.ts";
import { KubeconfigCredentials } from "../../../../agent/client/credentials/kubeconfig-credentials.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { Authority, hasOpenssl } from "../certificates.ts";

const folder = mkdtempSync(join(tmpdir(), "siteward-kubeconfig-"));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
};
const base64 = (text: string): string => Buffer.from(text).toString("base64");

type Fields = Record<string, unknown>;
const document = (cluster: Fields, user: Fields, more: Fields = {}): Fields => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [
    { name: "other", cluster: { server: "https://other:6443" } },
    { name: "site", cluster: { server: "https://10.0.0.1:6443", ...cluster } },
  ],
  users: [
    { name: "anonymous", user: {} },
    { name: "agent", user },
  ],
  contexts: [
    { name: "elsewhere", context: { cluster: "other", user: "anonymous" } },
    { name: "here", context: { cluster: "site", user: "agent", namespace: "edge" } },
  ],
  "current-context": "here",
  ...more,
});

function credentials(content: Fields | string, context?: string, clock = new FakeClock()) {
  const file = write("config", typeof content === "string" ? content : dump(content));
  const ambient = { clock, random: new SeededRandom(), log: noopLogger };
  const environment = { PATH: process.env.PATH, INHERITED: "yes" };
  return { file, credentials: new KubeconfigCredentials(ambient, { file, context, environment }) };
}

/** The error as people see it: its sentence without the folder, and what to do. */
async function problem(content: Fields | string, context?: string, clock?: FakeClock): Promise<string> {
  const given = credentials(content, context, clock);
  return given.credentials.access().then(
    () => "no problem",
    (error: Error & { hint?: string; disposition?: string }) => {
      expect(error).toMatchObject({
        name: "CredentialsError",
        disposition: "retry",
        hint: expect.stringMatching(/.\.?$/),
      });
      return error.message.replaceAll(`${folder}/`, "");
    },
  );
}

/** What the Kubernetes project's own JavaScript client makes of the same file. */
async function reference(file: string, context?: string) {
  const config = new KubeConfig();
  config.loadFromFile(file);
  if (context !== undefined) config.setCurrentContext(context);
  const tls: RequestOptions & { headers: Record<string, string> } = { headers: {} };
  await config.applyToHTTPSOptions(tls);
  const basic = tls.auth ? `Basic ${Buffer.from(tls.auth).toString("base64")}` : undefined;
  const text = (pem: unknown): string | undefined => (pem === undefined ? undefined : String(pem));
  return {
    server: config.getCurrentCluster()?.server,
    authorization: tls.headers.Authorization ?? basic,
    ca: text(tls.ca),
    certificate: text(tls.cert),
    key: text(tls.key),
    serverName: tls.servername,
    verify: tls.rejectUnauthorized !== false,
    proxy: config.getCurrentCluster()?.proxyUrl,
  };
}

async function ours(given: KubeconfigCredentials) {
  const access = await given.access();
  const { server, tls, proxy } = access;
  return {
    server: server.href.replace(/\/$/, ""),
    authorization: await access.authorization(),
    ...tls,
    proxy: proxy?.href.replace(/\/$/, ""),
  };
}

const plugin = write(
  "plugin",
  `#!/bin/sh
echo run >> "$(dirname "$0")/runs"
cat "$(dirname "$0")/answer-$1"
`,
);
chmodSync(plugin, 0o700);
const answer = (name: string, status: unknown, more: Fields = {}) =>
  write(
    `answer-${name}`,
    JSON.stringify({ kind: "ExecCredential", apiVersion: "client.authentication.k8s.io/v1", status, ...more }),
  );
const exec = (args: unknown, more: Fields = {}) => ({
  exec: {
    apiVersion: "client.authentication.k8s.io/v1",
    command: plugin,
    args,
    interactiveMode: "Never",
    ...more,
  },
});

describe.skipIf(!hasOpenssl())("a kubeconfig gives the access that Kubernetes' own client reads from it", () => {
  const authority = new Authority();
  const client = authority.issue("agent");
  const another = authority.issue("another");
  const { ca } = authority;
  beforeAll(() => {
    mkdirSync(join(folder, "pki"), { recursive: true });
    write("pki/ca.crt", ca);
    write("pki/agent.crt", client.cert);
    write("pki/agent.key", client.key);
    answer("token", { token: "from-plugin" });
    answer("certificate", { clientCertificateData: client.cert, clientKeyData: client.key });
  });
  afterAll(() => authority.remove());

  const inline = {
    "client-certificate-data": base64(client.cert),
    "client-key-data": base64(client.key),
  };

  test.each<[string, Fields, Fields, string?]>([
    ["only an address", {}, {}],
    ["a token", { "certificate-authority-data": base64(ca) }, { token: "secret" }],
    ["an authority by absolute path", { "certificate-authority": join(folder, "pki/ca.crt") }, { token: "secret" }],
    ["an authority by relative path", { "certificate-authority": "pki/ca.crt" }, { token: "secret" }],
    ["a client certificate in the file", { "certificate-authority-data": base64(ca) }, inline],
    [
      "a client certificate next to the file",
      {},
      { "client-certificate": "pki/agent.crt", "client-key": "./pki/agent.key" },
    ],
    ["user name and password", {}, { username: "admin", password: "p:w" }],
    ["a server that is not verified", { "insecure-skip-tls-verify": true }, { token: "secret" }],
    ["another name in the server's certificate", { "tls-server-name": "api.site.test" }, { token: "secret" }],
    ["a path in the address", { server: "https://gateway/k8s/clusters/c-1/" }, { token: "secret" }],
    ["a plugin that gives a token", {}, exec(["token"])],
    ["a plugin that gives a certificate", {}, exec(["certificate"])],
    ["a plugin with variables", {}, exec(["token"], { env: [{ name: "A", value: "b" }] })],
    ["a context other than the current one", {}, { token: "secret" }, "elsewhere"],
  ])("%s", async (_, cluster, user, context) => {
    const given = credentials(document(cluster, user), context);
    const expected = await reference(given.file, context);
    expect(await ours(given.credentials)).toEqual({
      ...expected,
      // That client hands all texts on to sockets, where an absent one is the same as an empty one.
      serverName: expected.serverName === "" ? undefined : expected.serverName,
    });
  });

  test("including the namespace and the proxy", async () => {
    const given = credentials(document({ "proxy-url": "http://proxy:3128" }, { token: "t" }));
    const access = await given.credentials.access();
    expect(access.namespace).toBe("edge");
    expect(access.proxy?.host).toBe("proxy:3128");
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromFile(given.file);
    expect(kubeConfig.getCurrentCluster()?.proxyUrl).toBe("http://proxy:3128");
  });

  test("unless its certificates cannot be used", async () => {
    const end = "240601120000Z";
    const expired = authority.issue("agent", { to: end });
    const use = (pair: { cert: string; key: string }) => ({
      "client-certificate-data": base64(pair.cert),
      "client-key-data": base64(pair.key),
    });
    const where = 'kubeconfig config: user "agent"';
    expect(await problem(document({}, use(expired)))).toBe(
      `${where}: the client certificate expired on 2024-06-01T12:00Z`,
    );
    expect(await problem(document({}, use({ cert: client.cert, key: another.key })))).toBe(
      `${where}: the client key does not belong to the client certificate`,
    );
    expect(await problem(document({}, use({ cert: "rubbish", key: client.key })))).toBe(
      `${where}: the client certificate is not a PEM certificate`,
    );
    expect(await problem(document({}, use({ cert: client.cert, key: "rubbish" })))).toBe(
      `${where}: the client key is not a readable PEM key`,
    );
    expect(await problem(document({}, { "client-certificate-data": base64(client.cert) }))).toBe(
      `${where}: client-key is missing`,
    );
    expect(await problem(document({ "certificate-authority-data": base64("rubbish") }, {}))).toBe(
      'kubeconfig config: cluster "site": the certificate authority is not a PEM certificate',
    );
  });

  test("a certificate that expires while the agent runs is noticed on the next connection, and so is its replacement", async () => {
    const clock = new FakeClock("2026-01-01T00:00:00Z");
    write("pki/short.crt", authority.issue("agent", { to: "260601000000Z" }).cert);
    const pair = authority.issue("agent", { to: "260601000000Z" });
    write("pki/short.crt", pair.cert);
    write("pki/short.key", pair.key);
    const user = { "client-certificate": "pki/short.crt", "client-key": "pki/short.key" };
    const given = credentials(document({}, user), undefined, clock).credentials;
    await given.access();
    clock.setWall("2026-06-02T00:00:00Z");
    await expect(given.access()).rejects.toThrow("expired on 2026-06-01");
    write("pki/short.crt", client.cert);
    write("pki/short.key", client.key);
    expect((await given.access()).tls.certificate).toBe(client.cert);
  });

  test("a connection is outdated once the plugin returns another certificate", async () => {
    const clock = new FakeClock("2026-01-01T00:00:00Z");
    const status = (pair: { cert: string; key: string }) => ({
      clientCertificateData: pair.cert,
      clientKeyData: pair.key,
      expirationTimestamp: "2026-01-01T01:00:00Z",
    });
    answer("rotating", status(client));
    const access = await credentials(document({}, exec(["rotating"])), undefined, clock).credentials.access();
    await access.authorization();
    expect(access.outdated).toBe(false);
    answer("rotating", status(another));
    await clock.advance("61m");
    await access.authorization();
    expect(access.outdated).toBe(true);
  });
});

describe("each mistake in a kubeconfig that a person has to correct has its own message", () => {
  test("content that is not a kubeconfig", async () => {
    const ambient = { clock: new FakeClock(), random: new SeededRandom(), log: noopLogger };
    const reading = (file: string) =>
      new KubeconfigCredentials(ambient, { file, context: undefined, environment: {} }).access();
    await expect(reading(join(folder, "missing"))).rejects.toThrow(`kubeconfig ${folder}/missing does not exist`);
    await expect(reading(folder)).rejects.toThrow(`kubeconfig ${folder} is a folder`);
    expect(await problem("a: [b")).toMatch(/^kubeconfig config is not YAML: unexpected end of the stream/);
    expect(await problem("")).toMatch(/^kubeconfig config is not YAML: /);
    expect(await problem("just a sentence")).toBe("kubeconfig config is not a kubeconfig");
  });

  const isRoot = process.getuid?.() === 0;
  if (isRoot) console.info("run as root: that a kubeconfig without permission is refused cannot be tried");
  test.skipIf(isRoot)("a file without read permission", async () => {
    const file = write("secret", "x");
    chmodSync(file, 0);
    const ambient = { clock: new FakeClock(), random: new SeededRandom(), log: noopLogger };
    const given = new KubeconfigCredentials(ambient, { file, context: undefined, environment: {} });
    await expect(given.access()).rejects.toThrow("cannot be read by this user");
  });

  const user = 'kubeconfig config: user "agent": ';
  const cluster = 'kubeconfig config: cluster "site": ';
  test.each<[string, Fields, string, string?]>([
    ["no current context", document({}, {}, { "current-context": "" }), "kubeconfig config has no current-context"],
    ["an empty document", {}, "kubeconfig config has no current-context"],
    ["a missing context", document({}, {}), 'kubeconfig config has no context "nowhere"', "nowhere"],
    [
      "a missing cluster",
      document({}, {}, { clusters: "none" }),
      'kubeconfig config has no cluster "site", which context "here" needs',
    ],
    [
      "a missing user",
      document({}, {}, { users: [] }),
      'kubeconfig config has no user "agent", which context "here" needs',
    ],
    [
      "a context without cluster",
      document({}, {}, { contexts: [{ name: "here" }] }),
      'kubeconfig config has no cluster, which context "here" needs',
    ],
    ["no server", document({ server: "" }, {}), `${cluster}server is missing`],
    [
      "a server that is not an address",
      document({ server: "ftp://x" }, {}),
      `${cluster}server ftp://x is not an address`,
    ],
    ["a token that is a number", document({}, { token: 12345 }), `${user}token is not text`],
    [
      "data that is not base64",
      document({ "certificate-authority-data": "-----BEGIN" }, {}),
      `${cluster}certificate-authority-data is not base64`,
    ],
    [
      "a flag that is a string",
      document({ "insecure-skip-tls-verify": "yes" }, {}),
      `${cluster}insecure-skip-tls-verify is neither true nor false`,
    ],
    [
      "a missing certificate file",
      document({ "certificate-authority": "no.crt" }, {}),
      "certificate-authority file no.crt does not exist",
    ],
    ["a missing token file", document({}, { tokenFile: "no.token" }), "token file no.token does not exist"],
    [
      "a proxy of another kind",
      document({ "proxy-url": "socks5://x:1" }, {}),
      `${cluster}proxy-url socks5://x:1 is not supported`,
    ],
    ["two ways to authenticate", document({}, { token: "t", username: "u" }), `${user}has a user name and a token`],
    [
      "an old auth provider",
      document({}, { "auth-provider": { name: "gcp" } }),
      `${user}auth-provider is not supported`,
    ],
    ["impersonation", document({}, { as: "someone" }), `${user}as is not supported`],
  ])("%s", async (_, content, sentence, context) => {
    expect(await problem(content, context)).toBe(sentence);
  });
});

test("an address without a scheme is https if TLS is configured, as in kubectl", async () => {
  const plain = await credentials(document({ server: "10.0.0.1:8080" }, {})).credentials.access();
  expect(plain.server.href).toBe("http://10.0.0.1:8080/");
  const secure = { server: "10.0.0.1:6443", "insecure-skip-tls-verify": true };
  expect((await credentials(document(secure, {})).credentials.access()).server.href).toBe("https://10.0.0.1:6443/");
});

test("a token file is read again after a minute, or when its token was refused; the token in the kubeconfig is the fallback", async () => {
  const clock = new FakeClock();
  const file = write("token", "first\n");
  const given = credentials(document({}, { tokenFile: "token", token: "fallback" }), undefined, clock).credentials;
  const access = await given.access();
  expect(await access.authorization()).toBe("Bearer first");
  write("token", "second\n");
  expect(await access.authorization()).toBe("Bearer first");
  await clock.advance("60s");
  expect(await access.authorization()).toBe("Bearer second");
  write("token", "third\n");
  access.refused();
  expect(await access.authorization()).toBe("Bearer third");
  rmSync(file);
  await clock.advance("2m");
  expect(await access.authorization()).toBe("Bearer third");
  expect(await (await given.access()).authorization()).toBe("Bearer fallback");
});
