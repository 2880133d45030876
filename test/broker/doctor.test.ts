import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "mqtt";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BrokerChecks } from "../../agent/doctor/checks/mqtt.ts";
import { mosquittoAcl } from "../../agent/fleet/mqtt/broker-acl.ts";
import { snapshot } from "../../agent/status/snapshot.ts";
import { Folder, patient } from "../agent/doctor/patient.ts";
import { Authority, lackOfMosquitto, Mosquitto } from "../support/broker/mosquitto.ts";
import { at, healthy } from "../support/site-status.ts";

const lack = lackOfMosquitto();
if (lack !== undefined) console.warn(`skipped: siteward doctor with a broker: ${lack}`);

const name = "acme/plant7/pi-3";
const own = `sw1/${name}`;
const acl = mosquittoAcl({ fleet: "acme", sites: new Map([["plant7", ["pi-3"]]]), operators: ["ops"] });

describe.skipIf(lack)("siteward doctor with a broker", () => {
  let broker: Mosquitto;
  let folder: Folder;

  beforeEach(() => {
    folder = new Folder();
    mkdirSync(folder.file("etc/credentials"), { recursive: true });
  });
  afterEach(async () => {
    await broker.stop();
    folder.remove();
  });

  const start = async (lines: string | undefined = acl): Promise<void> => {
    broker = new Mosquitto(lines === undefined ? {} : { acl: lines });
    await broker.start();
  };

  /** The board with credentials of this authority, or with another trusted authority. */
  function board(issuer: Authority = broker.authority, trusted: Authority = broker.authority) {
    const { certificate, key } = issuer.issue(name);
    copyFileSync(certificate, folder.file("etc/credentials/mqtt.crt"));
    copyFileSync(key, folder.file("etc/credentials/mqtt.key"));
    copyFileSync(trusted.file, folder.file("etc/credentials/mqtt-ca.crt"));
    return patient(
      folder,
      {},
      { SITEWARD_MQTT_URL: broker.url, SITEWARD_MQTT_FLEET: "acme", SITEWARD_SITE_NAME: "plant7" },
    );
  }

  test("reports a suspended broker", async () => {
    await start();
    broker.suspend();
    expect(await new BrokerChecks(board()).tls()).toEqual({
      level: "fail",
      message: `the broker ${new URL(broker.url).host} does not respond within 10 s`,
      hint: "Check the link to the broker, its address and port, and that the broker is running.",
    });
  });

  test("finds both certificates valid with the rules of broker-acl, and its test message returns", async () => {
    await start();
    const checks = new BrokerChecks(board());
    expect(await checks.tls()).toEqual({ level: "ok", message: `${broker.url}: MQTT 5` });
    expect(await checks.acl()).toMatchObject({
      level: "ok",
      message: expect.stringMatching(`^a message to ${own}/res/_doctor came back after \\d+ ms$`),
    });
    // One connection for both checks, which leaves no will and no subscription behind.
    expect(broker.log.match(/New client connected/g)).toHaveLength(1);
    expect(broker.log).not.toMatch(/Will message specified.*\n.*Sending PUBLISH to .*\/up/);
  });

  test("detects rules that permit it to write but not to read, although the subscription was granted", async () => {
    await start(acl.replace(/pattern read \S+_doctor\n/, ""));
    const checks = new BrokerChecks(board());
    expect(await checks.acl()).toMatchObject({
      level: "fail",
      message: expect.stringContaining("did not deliver it: this board is not allowed to read that topic"),
      hint: expect.stringContaining("siteward broker-acl"),
    });
  }, 20_000);

  test("detects rules that do not permit it to write by the broker's reason code", async () => {
    await start("pattern read sw1/%u/#\n");
    expect(await new BrokerChecks(board()).acl()).toMatchObject({
      level: "fail",
      message: expect.stringContaining("not authorized (0x87)"),
    });
  });

  test("reports a broker without our trust, and one that does not trust the board, as TLS failures", async () => {
    await start();
    const stranger = new Authority(broker.folder, "another authority");
    const untrusted = new BrokerChecks(board(broker.authority, stranger));
    expect(await untrusted.tls()).toMatchObject({
      level: "fail",
      message: expect.stringMatching(/^TLS with the broker/),
    });
    expect(await untrusted.acl()).toMatchObject({ level: "skip" });
    expect(await new BrokerChecks(board(stranger)).tls()).toMatchObject({ level: "fail" });
  });

  test("reports another board's files before it opens a connection", async () => {
    await start();
    const it = board();
    copyFileSync(broker.authority.issue("acme/plant7/pi-4").certificate, folder.file("etc/credentials/mqtt.crt"));
    expect(await new BrokerChecks(it).tls()).toMatchObject({
      level: "fail",
      message: expect.stringContaining("mqtt.key does not belong to"),
    });
    rmSync(folder.file("etc/credentials/mqtt.key"));
    expect(await new BrokerChecks(it).tls()).toMatchObject({
      level: "fail",
      message: expect.stringContaining("mqtt.key"),
    });
  });

  test("does not disturb a connected agent, which may have only one session", async () => {
    await start();
    const mqtt = {
      state: "up",
      since: at(0),
      session: 312,
      outbox: { state: 0, response: 0, event: 0 },
      dropped: 0,
    } as const;
    const status = { status: snapshot(healthy({ mqtt }), undefined), isFresh: true };
    const checks = new BrokerChecks({ ...board(), status });
    expect(await checks.tls()).toMatchObject({ level: "ok", message: expect.stringContaining("session 312") });
    expect(await checks.acl()).toMatchObject({
      level: "skip",
      message: expect.stringContaining("would end its connection"),
    });
    expect(broker.log).not.toContain("New client connected");
  });

  test("leaves commands that wait for the agent at the broker", async () => {
    await start();
    const { certificate, key } = broker.authority.issue(name);
    const session = { clientId: name, clean: false, properties: { sessionExpiryInterval: 600 } };
    const agent = await broker.clientWith({ certificate, key }, session);
    await agent.subscribeAsync(`${own}/cmd/#`, { qos: 1 });
    await agent.endAsync();
    const ops = await broker.client("ops");
    await ops.publishAsync(`${own}/cmd/ping/1`, "{}", { qos: 1, properties: { messageExpiryInterval: 60 } });

    const checks = new BrokerChecks(board());
    expect((await checks.tls()).level).toBe("ok");
    expect(await checks.acl()).toMatchObject({
      level: "skip",
      message: expect.stringContaining("commands are queued"),
    });

    const received: string[] = [];
    const options = {
      ...session,
      cert: readFileSync(certificate),
      key: readFileSync(key),
      ca: readFileSync(broker.authority.file),
    };
    const again = connect(broker.url, { protocolVersion: 5, ...options });
    again.on("message", (topic) => received.push(topic));
    for (let tries = 0; tries < 100 && received.length === 0; tries++)
      await new Promise((resolve) => setTimeout(resolve, 50));
    again.end(true);
    expect(received).toContain(`${own}/cmd/ping/1`);
  }, 20_000);
});
