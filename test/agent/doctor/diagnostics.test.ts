import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { scrubber } from "../../../agent/base/text/scrubber.ts";
import { archiveName, collectDiagnostics, type DiagnosticsDeps } from "../../../agent/doctor/diagnostics.ts";
import type { RunProgram } from "../../../agent/doctor/programs.ts";
import { knownSecrets } from "../../../agent/doctor/secrets.ts";
import { StateFolder } from "../../../storage/state-folder.ts";
import { Authority, hasOpenssl } from "../client/certificates.ts";
import { ambient, Folder, patient } from "./patient.ts";

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
  mkdirSync(folder.file("etc/credentials"), { recursive: true });
});
afterEach(() => folder.remove());

/** One of each kind that a board may hold, none of which looks like any other. */
const token = "k3s-node-token-8fd0b1ee42aa";
const password = "correct horse battery staple";
const proxyPassword = "pr0xy-Passw0rd";
const pluginSecret = "plugin-env-5f1e77";
const fileToken = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJzaXRld2FyZCJ9.c2lnbmF0dXJlLW9mLWl0";
const siteKey = "c2l0ZS1rZXktb2YtMzItYnl0ZXMtZm9yLUhNQUMtMQ==";

function put(name: string, text: string): string {
  writeFileSync(folder.file(`etc/credentials/${name}`), text, { mode: 0o600 });
  return text;
}

const kubeconfig = (user: object): string =>
  JSON.stringify({
    clusters: [{ name: "a", cluster: { server: "https://127.0.0.1:9" } }],
    users: [{ name: "a", user }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    "current-context": "a",
  });

async function collected(changes: Partial<DiagnosticsDeps> = {}, settings: Readonly<Record<string, string>> = {}) {
  const board = patient(folder, {}, settings);
  if (!("loaded" in board.configuration)) throw new Error("no configuration");
  const { config, origins } = board.configuration.loaded;
  const file = folder.file("out.tar.gz");
  const deps: DiagnosticsDeps = {
    version: "0.1.0",
    config,
    origins,
    statusFile: folder.file("run/status.json"),
    isRunning: false,
    read: board.files.read,
    program: async () => undefined,
    findings: undefined,
    secrets: knownSecrets(config, board),
    logsSince: 3_600_000,
    ...changes,
  };
  const archive = await collectDiagnostics(ambient, deps, file, new AbortController().signal);
  const unpacked = folder.file("unpacked");
  mkdirSync(unpacked, { recursive: true });
  execFileSync("tar", ["xzf", file, "-C", unpacked]);
  const read = (name: string): string => readFileSync(path.join(unpacked, "siteward", name), "utf8");
  const all = readdirSync(unpacked, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(path.join(one.parentPath, one.name), "utf8"))
    .join("\n");
  return { archive, file, read, all };
}

test("the archive is a tar that any program can unpack, written atomically and readable only by its owner", async () => {
  StateFolder.open({
    folder: folder.file("state"),
    pragmas: { cacheKiB: 256, mmapMiB: 0, walAutocheckpointPages: 1000, journalSizeLimitKiB: 1024 },
    stamp: "1",
  }).close();
  const { archive, file, read } = await collected({
    findings: async () => [{ id: "config.parse", level: "ok", message: "good" }],
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(file).size).toBe(archive.bytes);
  const sum = execFileSync("sha256sum", [file], { encoding: "utf8" });
  expect(sum.split(" ")[0]).toBe(archive.sha256);
  expect(JSON.parse(read("versions.json"))).toMatchObject({ siteward: "0.1.0", node: process.versions.node });
  expect(read("config.txt")).toMatch(/^leader\.duration: 6s {2}# SITEWARD_LEADER_DURATION$/m);
  expect(JSON.parse(read("databases.json"))).toMatchObject({
    "state.db": { kind: "sound", tables: expect.arrayContaining([{ name: "memo", rows: expect.any(Number) }]) },
    "cache.db": { kind: "sound" },
  });
  expect(read("doctor.json")).toContain("config.parse");
  expect(existsSync(`${file}.part`)).toBe(false);
});

test("a failing part and a missing program do not affect the other parts", async () => {
  const { read, archive } = await collected({
    findings: () => Promise.reject(new Error("the doctor is ill")),
  });
  expect(read("doctor.json")).toContain("the doctor is ill");
  expect(archive.entries).not.toContain("siteward/log.txt");
  expect(archive.entries).toContain("siteward/config.txt");
});

test("only the requested parts are included", async () => {
  const { archive } = await collected({ sections: ["versions", "config"] });
  expect(archive.entries).toEqual(["siteward/versions.json", "siteward/config.txt"]);
});

test("a full disk leaves no partial archive", async () => {
  const board = patient(folder);
  const deps: DiagnosticsDeps = {
    version: "1",
    config: undefined,
    origins: undefined,
    statusFile: "/nowhere",
    isRunning: false,
    read: board.files.read,
    program: async () => undefined,
    findings: undefined,
    secrets: [],
    logsSince: 1000,
  };
  const { signal } = new AbortController();
  await expect(collectDiagnostics(ambient, deps, "/dev/full/a.tar.gz", signal)).rejects.toThrow();
  const stopped = AbortSignal.abort(new Error("stopped"));
  await expect(collectDiagnostics(ambient, deps, folder.file("b.tar.gz"), stopped)).rejects.toThrow("stopped");
  expect(readdirSync(folder.path)).toEqual(["etc"]);
});

test("an archive is named after its board and the time", () => {
  expect(archiveName("edge-02", Date.parse("2026-11-20T12:00:05.204Z"))).toBe(
    "siteward-edge-02-20261120T120005Z.tar.gz",
  );
});

describe.skipIf(!hasOpenssl())("no secret of any kind is included", () => {
  test("from any source: configuration, status, doctor, log, unit", async () => {
    const authority = new Authority();
    const { cert, key } = authority.issue("pi-3");
    const { key: brokerKey } = authority.issue("acme/plant7/pi-3");
    authority.remove();
    put("token", fileToken);
    put("mqtt.key", brokerKey);
    put("site.key", siteKey);
    const data = (text: string): string => Buffer.from(text).toString("base64");
    put(
      "kubeconfig",
      kubeconfig({
        token,
        tokenFile: folder.file("etc/credentials/token"),
        username: "admin",
        password,
        "client-certificate-data": data(cert),
        "client-key-data": data(key),
        exec: { command: "plugin", env: [{ name: "SECRET", value: pluginSecret }] },
      }),
    );
    // Some of these are not configured anywhere: they are recognised by their form.
    const strangers = {
      pem: "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAxyz\nabcdef0123456789\n-----END RSA PRIVATE KEY-----",
      bearer: "Authorization: Bearer 0a1b2c3d4e5f",
      url: "mqtts://board:hunter2222@broker.site.test:8883",
      field: '{"password":"swordfish-9"}',
      sentence: "the password CANARYf was refused, and the secret canary-77 too",
      key: "cannot renew: refresh_key=CANARYg",
      signature: "https://blobs.site.test/a?se=2026&sig=CANARYh%3D&v=1",
      flag: "--token=abcdef.0123456789abcdef",
      jwt: "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.QUJDREVGRw",
    };
    const everything = [
      token,
      fileToken,
      password,
      pluginSecret,
      siteKey,
      key,
      brokerKey,
      data(key),
      data(brokerKey),
      encodeURIComponent(password),
      JSON.stringify(brokerKey),
      key.split("\n")[1] ?? "",
      ...Object.values(strangers),
    ];
    const noise = everything.map((secret) => `pi-3 siteward[512]: failed: ${secret}`).join("\n");
    mkdirSync(folder.file("run"));
    writeFileSync(folder.file("run/status.json"), JSON.stringify({ message: noise }));
    const program: RunProgram = async (command) => ({ code: 0, stdout: `${command}\n${noise}\n`, stderr: noise });
    const { all, read } = await collected(
      { program, findings: async () => [{ id: "api.tls", level: "fail", message: noise, hint: noise }] },
      { SITEWARD_API_PROXY: `http://user:${proxyPassword}@proxy:3128` },
    );
    const needles = [
      ...[token, fileToken, password, proxyPassword, pluginSecret, siteKey, data(key), data(brokerKey)],
      ...[encodeURIComponent(password), "hunter2222", "swordfish-9", "abcdef.0123456789abcdef", "0a1b2c3d4e5f"],
      ...["CANARY", "canary-77"],
      ...["MIIEowIBAAKCAQEAxyz", "eyJpc3MiOiJrdWJlcm5ldGVzIn0"],
      ...key.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----")),
      ...brokerKey.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----")),
    ];
    expect(needles.filter((needle) => all.includes(needle))).toEqual([]);
    // And the rest is still worth reading.
    expect(read("log.txt")).toContain("pi-3 siteward[512]: failed: [redacted]");
    expect(read("config.txt")).toContain("api.proxy: http://[redacted]@proxy:3128");
  });
});

test("text that is not secret is kept in the archive: names, times, numbers, certificates' names, words about tokens", () => {
  const clean = scrubber(["", "abc", "k3s"]);
  const lines = [
    "2026-11-20T12:00:05Z info lease acquired lease=kube-system/siteward-plant7 holder=edge-02_e7fc96c8",
    "kubeconfig /etc/siteward/credentials/kubeconfig does not exist",
    "the API server does not accept our credentials: renew the token",
    "CN=acme/plant7/edge-02, https://10.0.0.1:6443, mqtts://broker:8883, sw1/acme/plant7/edge-02/res/_doctor",
    "-----BEGIN CERTIFICATE-----",
    "the password is missing; the password of the broker; secret not found; key=kube-system/edge-02 token-cleaner",
    "GET https://10.0.0.1:6443/api/v1/pods?limit=500&continue=x: no response within 30s",
  ];
  expect(lines.map(clean)).toEqual(lines);
});

test.each([0, 1, 2])(
  "a private key in base64 is redacted, even %s bytes after the beginning of the encoded text",
  (offset) => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const encoded = Buffer.from(" ".repeat(offset) + pem).toString("base64");
    const clean = scrubber([])(`value: ${encoded}`);
    expect(clean).toContain("[redacted]");
    expect(clean.length).toBeLessThan(40);
  },
);
