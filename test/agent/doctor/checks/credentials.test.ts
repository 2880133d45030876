import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { apiTls } from "../../../../agent/doctor/checks/api.ts";
import { checkLifetime } from "../../../../agent/doctor/checks/certificate-facts.ts";
import { credsFiles } from "../../../../agent/doctor/checks/credentials.ts";
import { Authority, hasOpenssl, type Pair } from "../../client/certificates.ts";
import { ambient, Folder, patient } from "../patient.ts";

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
  mkdirSync(folder.file("etc/credentials"), { recursive: true });
});
afterEach(() => folder.remove());

const place = (name: string): string => folder.file(`etc/credentials/${name}`);

function put(name: string, text: string, mode = 0o600): void {
  writeFileSync(place(name), text);
  chmodSync(place(name), mode);
}

const encoded = (pem: string): string => Buffer.from(pem).toString("base64");

const kubeconfig = (user: object, ca?: string): string =>
  JSON.stringify({
    clusters: [
      {
        name: "a",
        cluster: { server: "https://127.0.0.1:9", ...(ca && { "certificate-authority-data": encoded(ca) }) },
      },
    ],
    users: [{ name: "a", user }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    "current-context": "a",
  });

const withPair = ({ cert, key }: Pair): object => ({
  "client-certificate-data": encoded(cert),
  "client-key-data": encoded(key),
});

const inDays = (days: number): string =>
  new Date(Date.now() + days * 86_400_000)
    .toISOString()
    .replace(/[-:T]|\.\d+/g, "")
    .slice(2);

test("without a kubeconfig a board cannot do anything, and the check says how to get one", async () => {
  expect(await credsFiles(patient(folder))).toMatchObject({
    level: "fail",
    message: "this board has no credentials for the API",
    hint: expect.stringContaining("sudo siteward enroll"),
  });
  // Reported once: the connection cannot be checked without credentials.
  expect(await apiTls(patient(folder))).toEqual({
    level: "skip",
    message: "there are no usable credentials (creds.files)",
  });
});

test("a kubeconfig that every user may read is a warning with the command that corrects it", async () => {
  put("kubeconfig", kubeconfig({ token: "secret" }), 0o644);
  expect(await credsFiles(patient(folder))).toEqual({
    level: "warn",
    message: `${place("kubeconfig")} can be read by every user (mode 644)`,
    hint: `chmod 600 ${place("kubeconfig")}`,
  });
  put("kubeconfig", kubeconfig({ token: "secret" }), 0o600);
  expect(await credsFiles(patient(folder))).toMatchObject({ level: "ok" });
});

describe.skipIf(!hasOpenssl())("with certificates", () => {
  const authority = new Authority();
  const good = authority.issue("pi-3");
  afterAll(() => authority.remove());

  test.each<[what: string, level: string, said: RegExp, user: () => object]>([
    [
      "that is good for years",
      "ok",
      /^the client certificate of the kubeconfig is valid until 2045-/,
      () => withPair(good),
    ],
    [
      "that has expired",
      "fail",
      /the client certificate expired on 2025-01-01/,
      () => withPair(authority.issue("pi-3", { to: "250101000000Z" })),
    ],
    [
      "that expires in a fortnight",
      "warn",
      /^the client certificate of the kubeconfig expires in 1[34]d/,
      () => withPair(authority.issue("pi-3", { to: inDays(14) })),
    ],
    [
      "whose key belongs to another certificate",
      "fail",
      /the client key does not belong to the client certificate/,
      () => withPair({ cert: good.cert, key: authority.issue("pi-4").key }),
    ],
  ])("a client certificate %s is reported", async (_, level, said, user) => {
    put("kubeconfig", kubeconfig(user()));
    const verdict = await credsFiles(patient(folder));
    expect(verdict.level).toBe(level);
    expect(verdict.message).toMatch(said);
  });

  test("a certificate authority that expires within a month is a warning, because the API server is not trusted after that", async () => {
    put("kubeconfig", kubeconfig({ token: "secret" }, authority.ca));
    expect(await credsFiles(patient(folder))).toMatchObject({
      level: "warn",
      message: expect.stringMatching(/^the certificate authority of the kubeconfig expires in (29|30)d/),
    });
  });

  test("a certificate that becomes valid next year points to a wrong clock", () => {
    const early = authority.issue("pi-3", { from: inDays(300) });
    expect(checkLifetime("it", early.cert, ambient.clock.now())).toMatchObject({
      level: "fail",
      message: expect.stringMatching(/^it is not valid before .*Z$/),
      hint: expect.stringContaining("this board's clock"),
    });
  });

  test.each<[what: string, level: string, said: RegExp, spoil: () => void]>([
    ["are all there", "ok", /; the MQTT client certificate is valid until 2045-/, () => undefined],
    ["lack the key", "fail", /^the MQTT client key: \S+mqtt\.key does not exist/, () => rmSync(place("mqtt.key"))],
    [
      "do not belong together",
      "fail",
      /^the MQTT client key does not belong to its certificate/,
      () => put("mqtt.key", authority.issue("x").key),
    ],
    [
      "have expired",
      "fail",
      /^the MQTT client certificate expired on 2025-01-01/,
      () => {
        const old = authority.issue("pi-3", { to: "250101000000Z" });
        put("mqtt.crt", old.cert);
        put("mqtt.key", old.key);
      },
    ],
    [
      "have a key that every user may read",
      "warn",
      /mqtt\.key can be read by every user \(mode 644\)/,
      () => chmodSync(place("mqtt.key"), 0o644),
    ],
  ])("the files of a fleet board that %s are reported", async (_, level, said, spoil) => {
    put("kubeconfig", kubeconfig({ token: "secret" }));
    put("mqtt.crt", good.cert);
    put("mqtt.key", good.key);
    spoil();
    const settings = { SITEWARD_MQTT_URL: "mqtts://broker:8883", SITEWARD_MQTT_FLEET: "acme" };
    const verdict = await credsFiles(patient(folder, {}, settings));
    expect(verdict.level).toBe(level);
    expect(verdict.message).toMatch(said);
  });
});
