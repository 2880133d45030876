import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../../agent/base/clock.ts";
import { dispatch } from "../../../agent/cli/dispatch.ts";
import { kubeconfigContext } from "../../../agent/client/credentials/kubeconfig.ts";
import { recordingIo } from "../../support/recording-io.ts";
import { Authority, hasOpenssl } from "../client/certificates.ts";

describe.skipIf(!hasOpenssl())("siteward enroll", () => {
  const authority = new Authority();
  const board = authority.issue("acme/plant7/edge-02");
  let api: Server;
  let folder: string;
  let status = 200;

  beforeAll(async () => {
    api = createServer(authority.issue("api"), (_, response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ gitVersion: "v1.36.3" }));
    });
    await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    api.closeAllConnections();
    api.close();
    authority.remove();
  });
  beforeEach(() => {
    status = 200;
    folder = mkdtempSync(path.join(tmpdir(), "siteward-enroll-test-"));
    for (const name of ["etc", "usr"]) mkdirSync(at(`card/${name}`), { recursive: true });
    put("ca.crt", authority.ca);
    put("token", "top-secret\n");
    put("mqtt.crt", board.cert);
    put("mqtt.key", board.key);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const at = (name: string): string => path.join(folder, name);
  const put = (name: string, text: string): void => writeFileSync(at(name), text);
  const server = (port = (api.address() as AddressInfo).port): readonly string[] => [
    ...["--server", `https://127.0.0.1:${port}`],
    ...["--token-file", at("token"), "--ca", at("ca.crt")],
  ];
  const fleet = [...["--mqtt", "mqtts://broker.site.test:8883", "--fleet", "acme", "--certificate"]] as const;
  const ofFleet = (): readonly string[] => [
    ...fleet,
    at("mqtt.crt"),
    "--key",
    at("mqtt.key"),
    "--mqtt-ca",
    at("ca.crt"),
  ];
  const named = ["--site", "plant7", "--board", "edge-02"];

  async function enroll(...argv: readonly string[]) {
    const io = recordingIo({ clock: new SystemClock() });
    const code = await dispatch(io, ["enroll", "--root", at("card"), ...argv]);
    return { code, out: io.out(), err: io.err() };
  }

  const files = (): readonly string[] =>
    existsSync(at("card"))
      ? readdirSync(at("card"), { recursive: true, withFileTypes: true })
          .filter((one) => one.isFile())
          .map((one) => path.relative(at("card"), path.join(one.parentPath, one.name)))
          .sort()
      : [];

  const whole = [
    "etc/siteward/conf.d/20-enrolled.yaml",
    "etc/siteward/credentials/kubeconfig",
    "etc/siteward/credentials/mqtt-ca.crt",
    "etc/siteward/credentials/mqtt.crt",
    "etc/siteward/credentials/mqtt.key",
    "etc/systemd/system/siteward.service.d/20-fleet.conf",
  ];

  test("writes what the unit, the agent and the fleet need, and no secret that others may read", async () => {
    const { code, out } = await enroll(...server(), ...ofFleet(), ...named);
    expect(code).toBe(0);
    expect(out).toContain("answers: Kubernetes v1.36.3");
    expect(files()).toEqual(whole);
    for (const file of whole.filter((one) => one.includes("/credentials/")))
      expect(statSync(at(`card/${file}`)).mode & 0o777, file).toBe(0o600);
    expect(readFileSync(at(`card/${whole[0]}`), "utf8")).toMatch(
      /site:\n {2}name: plant7\nboard:\n {2}name: edge-02\nmqtt:\n {2}url: mqtts:\/\/broker.site.test:8883\n {2}fleet: acme\n/,
    );
    expect(readFileSync(at(`card/${whole[5]}`), "utf8")).toContain(
      "LoadCredential=mqtt.key:/etc/siteward/credentials/mqtt.key\n",
    );
    const text = readFileSync(at(`card/${whole[1]}`), "utf8");
    expect(kubeconfigContext(text, "kubeconfig", undefined).user.text("token")).toBe("top-secret");
    expect(out).not.toContain("top-secret");
  });

  test("without a broker does not need a drop-in, and removes one left by an earlier enrolment", async () => {
    await enroll(...server(), ...ofFleet(), ...named);
    const { code, out } = await enroll(...server(), ...named);
    expect(code).toBe(0);
    expect(files()).toEqual(whole.slice(0, 2));
    expect(out.match(/^removed \S+ \(no broker is named\)$/gm)).toHaveLength(4);
  });

  test("gives a board a new token, and keeps its site and name", async () => {
    await enroll(...server(), ...named);
    const settings = readFileSync(at(`card/${whole[0]}`), "utf8");
    put("token", "newer\n");
    expect((await enroll(...server())).code).toBe(0);
    expect(readFileSync(at(`card/${whole[0]}`), "utf8")).toBe(settings);
    expect(readFileSync(at(`card/${whole[1]}`), "utf8")).toContain("newer");
    expect((await enroll(...server(), "--site", "plant8")).code).toBe(0);
    expect(readFileSync(at(`card/${whole[0]}`), "utf8")).toMatch(/plant8\nboard:\n {2}name: edge-02\n/);
    // Half a file names nothing, and is no obstacle.
    writeFileSync(at(`card/${whole[0]}`), "site: {name: [");
    expect((await enroll(...server(), ...named)).code).toBe(0);
    expect(readFileSync(at(`card/${whole[0]}`), "utf8")).toBe(settings);
  });

  test.each<[what: string, root: () => string]>([
    ["a missing folder", () => at("crad")],
    ["a card that is not mounted", () => mkdirSync(at("empty"), { recursive: true }) ?? at("empty")],
    ["a file", () => at("token")],
    ["a place where no folder can be created", () => "/proc/x"],
  ])("%s cannot be enrolled as a card, and no file is created", async (_, root) => {
    const before = readdirSync(folder);
    const io = recordingIo({ clock: new SystemClock() });
    const place = root();
    const had = existsSync(at("empty")) ? [...before, "empty"].sort() : before;
    for (const more of [[], ["--dry-run"]])
      expect(await dispatch(io, ["enroll", "--root", place, ...server(), ...named, ...more])).toBe(64);
    expect(io.err()).toMatch(
      /^siteward: enroll: \S+ is (not a folder|not the root of a system).*nothing was written$/m,
    );
    expect(readdirSync(folder)).toEqual(had);
    expect(existsSync(at("empty")) ? readdirSync(at("empty")) : []).toEqual([]);
  });

  test("follows the symbolic links of a card as its board would, never to this machine", async () => {
    for (const name of ["card/data/siteward", "card/data/drop-ins", "card/etc/systemd/system", "data", "outside"])
      mkdirSync(at(name), { recursive: true });
    symlinkSync("/data/siteward", at("card/etc/siteward"));
    symlinkSync("../../../../../data/drop-ins", at("card/etc/systemd/system/siteward.service.d"));
    symlinkSync(at("outside"), at("card/data/siteward/conf.d"));
    const refused = await enroll(...server(), ...ofFleet(), ...named);
    expect(refused.code).toBe(78);
    expect(refused.err).toContain(
      `siteward: ${at("card/data/siteward/conf.d")} is a symbolic link to ${at("outside")}, but ` +
        `${at(`card${at("outside")}`)} is not a folder: mount what belongs there, or create it; nothing was written\n`,
    );
    expect(files()).toEqual([]);

    mkdirSync(at(`card${at("outside")}`), { recursive: true });
    const { code, out } = await enroll(...server(), ...ofFleet(), ...named);
    expect(code).toBe(0);
    expect(files()).toEqual(
      [
        "data/drop-ins/20-fleet.conf",
        ...["kubeconfig", "mqtt-ca.crt", "mqtt.crt", "mqtt.key"].map((name) => `data/siteward/credentials/${name}`),
        path.relative("/", at("outside/20-enrolled.yaml")),
      ].sort(),
    );
    for (const name of files()) expect(out).toContain(`wrote ${at(`card/${name}`)} (`);
    expect(readdirSync(at("outside"))).toEqual([]);
    expect(readFileSync(at("card/data/drop-ins/20-fleet.conf"), "utf8")).toContain(":/etc/siteward/credentials/");
  });

  test("a circle of symbolic links, or a link to a partition that is not mounted, is refused in one line", async () => {
    for (const [link, said] of [
      ["/etc/siteward", /is in a loop of symbolic links; nothing was written$/],
      ["/data/siteward", /etc\/siteward is a symbolic link to \/data\/siteward, but .*; nothing was written$/],
    ] as const) {
      rmSync(at("card/etc/siteward"), { force: true });
      symlinkSync(link, at("card/etc/siteward"));
      const { code, err } = await enroll(...server(), ...named);
      expect(code).toBe(78);
      expect(err.trim()).toMatch(said);
      expect(err.trim()).not.toContain("\n");
      expect(files()).toEqual([]);
    }
  });

  test.runIf(process.getuid?.() === 0)(
    "gives a user without write permission a one-line message and exit code 77",
    async () => {
      chmodSync(folder, 0o755);
      process.seteuid?.(65_534);
      const { code, err } = await enroll(...server(), ...named);
      process.seteuid?.(0);
      expect(code).toBe(77);
      expect(err).toMatch(
        /^siteward: enroll: no permission for \S+\/card\/etc\S*; only root may do this: sudo siteward enroll\n$/,
      );
      expect(files()).toEqual([]);
    },
  );

  test("changes nothing of an interrupted enrolment in a dry run, and copes with a lost list of its files", async () => {
    await enroll(...server(), ...named);
    const ledger = at("card/etc/siteward/credentials/.enrolment");
    writeFileSync(ledger, "");
    expect((await enroll(...server(), ...named, "--dry-run")).code).toBe(0);
    expect(existsSync(ledger)).toBe(true);
    expect((await enroll(...server(), ...named)).code).toBe(0);
    expect(files()).toEqual(whole.slice(0, 2));
  });

  test("embeds the files that a kubeconfig names", async () => {
    put("client.crt", board.cert);
    put("client.key", board.key);
    const port = (api.address() as AddressInfo).port;
    put(
      "kubeconfig",
      JSON.stringify({
        clusters: [{ name: "a", cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority": "ca.crt" } }],
        users: [{ name: "b", user: { "client-certificate": "client.crt", "client-key": "client.key" } }],
        contexts: [{ name: "c", context: { cluster: "a", user: "b" } }],
        "current-context": "c",
      }),
    );
    expect((await enroll("--kubeconfig", at("kubeconfig"), ...named)).code).toBe(0);
    const { cluster, user } = kubeconfigContext(readFileSync(at(`card/${whole[1]}`), "utf8"), "it", undefined);
    expect(cluster.decoded("certificate-authority-data")).toBe(authority.ca);
    expect(user.decoded("client-key-data")).toBe(board.key);
    expect(cluster.has("certificate-authority")).toBe(false);
  });

  test("reports in a dry run what it would write, and writes nothing", async () => {
    const { code, out } = await enroll(...server(), ...ofFleet(), ...named, "--dry-run");
    expect(code).toBe(0);
    expect(out.match(/would write/g)).toHaveLength(6);
    expect(files()).toEqual([]);
  });

  test("also prepares boards at a bench: an unreachable API server is only reported", async () => {
    const { code, out } = await enroll(...server(9), ...named);
    expect(code).toBe(0);
    expect(out).toContain("not checked against the API server: https://127.0.0.1:9: the connection was refused");
  });

  test.each<[what: string, code: number, said: RegExp, argv: () => readonly string[]]>([
    [
      "a token that the server refuses",
      1,
      /does not accept these credentials/,
      () => {
        status = 401;
        return [...server(), ...named];
      },
    ],
    [
      "the key of another board",
      78,
      /mqtt\.key does not belong to mqtt\.crt/,
      () => {
        put("mqtt.key", authority.issue("x").key);
        return [...server(), ...ofFleet(), ...named];
      },
    ],
    [
      "the certificate of another board",
      78,
      /is for acme\/plant7\/edge-02, but this board is acme\/plant7\/edge-03/,
      () => [...server(), ...ofFleet(), "--site", "plant7", "--board", "edge-03"],
    ],
    [
      "a broker with an unverifiable certificate",
      78,
      /needs --certificate, --key, --mqtt-ca/,
      () => [...server(), "--mqtt", "mqtts://b:8883", "--fleet", "acme", ...named],
    ],
    ["a name that is invalid in a topic", 64, /site\.name/, () => [...server(), "--site", "Plant 7"]],
    ["a missing file", 1, /kubeconfig \S+ does not exist/, () => ["--kubeconfig", at("none")]],
    ["a server without TLS", 1, /is not an address/, () => ["--server", "http://a", "--token-file", at("token")]],
    ["a card without any credentials", 64, /name a kubeconfig/, () => []],
    [
      "an authority that did not sign the server's certificate",
      1,
      /signed by an authority that this board does not trust/,
      () => {
        const other = new Authority("other");
        put("ca.crt", other.ca);
        other.remove();
        return [...server(), ...named];
      },
    ],
  ])("%s is refused before anything is written", async (_, code, said, argv) => {
    const ended = await enroll(...argv());
    expect(ended.err).toMatch(said);
    expect(ended.code).toBe(code);
    expect(files()).toEqual([]);
  });
});
