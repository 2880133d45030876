import { mkdirSync, writeFileSync } from "node:fs";
import { createServer as createPlain, type Server } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { apiRbac, apiTls } from "../../../../agent/doctor/checks/api.ts";
import { clockSkew } from "../../../../agent/doctor/checks/clock.ts";
import { leaseConflict } from "../../../../agent/doctor/checks/lease.ts";
import { examine } from "../../../../agent/doctor/examination.ts";
import { Authority, hasOpenssl } from "../../client/certificates.ts";
import { Folder, patient } from "../patient.ts";

/** What a small API server answers; a test changes it. */
const world = {
  skew: 0,
  status: 200,
  denied: [] as string[],
  holders: ["pi-1_a"] as string[],
  looks: 0,
};

function answer(request: { url?: string | undefined; body: string }): { status: number; body: object } {
  const { url = "" } = request;
  if (world.status !== 200) return { status: world.status, body: { kind: "Status" } };
  if (url === "/version") return { status: 200, body: { gitVersion: "v1.36.3" } };
  if (url.includes("/leases/")) {
    const holder = world.holders[world.looks++ % world.holders.length];
    return { status: 200, body: { spec: { holderIdentity: holder, leaseTransitions: world.looks, renewTime: "" } } };
  }
  if (url.includes("selfsubjectaccessreviews")) {
    const { verb, resource } = JSON.parse(request.body).spec.resourceAttributes as Record<string, string>;
    return { status: 201, body: { status: { allowed: !world.denied.includes(`${verb} ${resource}`) } } };
  }
  return { status: 404, body: { kind: "Status" } };
}

describe.skipIf(!hasOpenssl())("an API server", () => {
  const authority = new Authority();
  const stranger = new Authority("another authority");
  let folder: Folder;
  let secure: Server;
  let expired: Server;
  const plain = createPlain((_, response) => response.end("hello"));

  const serve = (pair: { cert: string; key: string }): Server =>
    createServer(pair, (request, response) => {
      let body = "";
      request.on("data", (part: Buffer) => {
        body += part;
      });
      request.on("end", () => {
        const { status, body: text } = answer({ url: request.url, body });
        response.sendDate = false;
        const date = new Date(Date.now() + world.skew).toUTCString();
        response.writeHead(status, { "content-type": "application/json", date });
        response.end(JSON.stringify(text));
      });
    });

  beforeAll(async () => {
    secure = serve(authority.issue("api"));
    expired = serve(authority.issue("api", { to: "250101000000Z" }));
    for (const server of [secure, expired, plain])
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    for (const server of [secure, expired, plain]) {
      server.closeAllConnections();
      server.close();
    }
    authority.remove();
    stranger.remove();
  });
  beforeEach(() => {
    folder = new Folder();
    mkdirSync(folder.file("etc/credentials"), { recursive: true });
    Object.assign(world, { skew: 0, status: 200, denied: [], holders: ["pi-1_a"], looks: 0 });
  });
  afterEach(() => folder.remove());

  const portOf = (server: Server): number => (server.address() as AddressInfo).port;

  /** A board whose kubeconfig names this server and trusts this authority. */
  function board(server: Server = secure, ca = authority.ca) {
    const data = { "certificate-authority-data": Buffer.from(ca).toString("base64") };
    const text = JSON.stringify({
      clusters: [{ name: "a", cluster: { server: `https://127.0.0.1:${portOf(server)}`, ...data } }],
      users: [{ name: "a", user: { token: "secret" } }],
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      "current-context": "a",
    });
    writeFileSync(folder.file("etc/credentials/kubeconfig"), text, { mode: 0o600 });
    return patient(folder);
  }

  test("that answers is reported with its version", async () => {
    const it = board();
    expect(await apiTls(it)).toMatchObject({ level: "ok", message: expect.stringMatching(/: Kubernetes v1\.36\.3$/) });
    it.api.close();
  });

  test.each<[what: string, server: () => Server, ca: () => string, said: RegExp]>([
    ["of another authority", () => secure, () => stranger.ca, /signed by an authority that this board does not trust/],
    ["whose certificate has expired", () => expired, () => authority.ca, /its certificate has expired/],
    ["that does not speak TLS", () => plain, () => authority.ca, /does not speak TLS on this port/],
  ])("%s fails, with its own message and next step", async (_, server, ca, said) => {
    const it = board(server(), ca());
    const verdict = await apiTls(it);
    expect(verdict).toMatchObject({ level: "fail", message: expect.stringMatching(said), hint: expect.any(String) });
    expect(await apiRbac(it)).toMatchObject({ level: "skip", message: "the API server was not reached (api.tls)" });
    it.api.close();
  });

  test("that does not accept our token is a failure of the credentials, and reported once", async () => {
    world.status = 401;
    const it = board();
    expect(await apiTls(it)).toMatchObject({
      level: "fail",
      message: expect.stringContaining("does not accept this board's credentials"),
    });
    expect(await apiRbac(it)).toMatchObject({ level: "skip" });
    it.api.close();
  });

  test("whose clock differs is reported with the difference, from its Date header", async () => {
    for (const [skew, level] of [
      [0, "ok"],
      [60_000, "warn"],
      [-3_600_000, "fail"],
    ] as const) {
      world.skew = skew;
      const it = board();
      expect(await clockSkew(it)).toMatchObject({ level });
      it.api.close();
    }
  });

  test("that refuses verbs is reported with the missing ones; missing Events alone are only a warning", async () => {
    const it = board();
    expect(await apiRbac(it)).toMatchObject({ level: "ok", message: expect.stringMatching(/^all \d+ permissions/) });
    world.denied = ["delete pods", "patch nodes", "create events"];
    expect(await apiRbac(it)).toMatchObject({
      level: "fail",
      message: expect.stringMatching(
        /^3 of \d+ permissions are missing: patch nodes, patch nodes\/status, delete pods$/,
      ),
      hint: expect.stringContaining("rbac.yaml"),
    });
    world.denied = ["create events", "patch events"];
    expect(await apiRbac(it)).toMatchObject({
      level: "warn",
      message: expect.stringContaining("no Events are written"),
    });
    it.api.close();
  });

  test("on which two processes take the Lease from each other is reported within seconds", async () => {
    const it = board();
    expect(await leaseConflict(it)).toMatchObject({ level: "ok", message: expect.stringMatching(/^pi-1 leads/) });
    world.holders = ["pi-1_a", "pi-2_b"];
    expect(await leaseConflict(it)).toMatchObject({
      level: "fail",
      message: expect.stringMatching(/^pi-\d_\w and pi-\d_\w keep taking/),
    });
    it.api.close();
  });

  test("receives no request with --offline", async () => {
    const it = board(plain);
    const findings = await examine(it, { only: ["api.tls", "api.rbac", "version.skew", "creds.files"], offline: true });
    expect(findings.map(({ id, level }) => `${id} ${level}`)).toEqual([
      "creds.files warn", // The authority of a test ends within a month.
      "api.tls skip",
      "api.rbac skip",
      "version.skew skip",
    ]);
  });
});
