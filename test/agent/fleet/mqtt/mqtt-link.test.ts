import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { Aedes } from "aedes";
import { afterEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../../../agent/base/clock.ts";
import type { Incoming, LinkOptions } from "../../../../agent/fleet/mqtt/link.ts";
import { mqttLinks } from "../../../../agent/fleet/mqtt/mqtt-link.ts";
import { lackOfMosquitto, Mosquitto } from "../../../support/broker/mosquitto.ts";
import { openingTo } from "../../../support/broker/opening.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const lack = lackOfMosquitto();
if (lack) console.log(`left out: the link against a real broker, because ${lack}`);

const me = "acme/plant7/pi-1";
const open = mqttLinks(new SystemClock());
const brokers: Mosquitto[] = [];
const servers: Server[] = [];
const never = new AbortController().signal;

afterEach(async () => {
  for (const broker of brokers.splice(0)) await broker.stop();
  for (const server of servers.splice(0)) server.close();
});

async function brokerWith(more: readonly string[] = []): Promise<Mosquitto> {
  const broker = await new Mosquitto({ more }).start();
  brokers.push(broker);
  return broker;
}

function openingFor(broker: Mosquitto, more: Partial<LinkOptions> = {}): LinkOptions {
  const { certificate, key } = broker.authority.issue(me);
  const [cert, keyText, ca] = [certificate, key, broker.authority.file].map((file) => readFileSync(file, "utf8"));
  return openingTo(broker.url, { tls: { ca, certificate: cert ?? "", key: keyText ?? "" }, ...more });
}

describe.skipIf(lack)("a real broker", () => {
  test("has stored a published message when the promise resolves, with its expiry and code", async () => {
    const broker = await brokerWith();
    const ops = await broker.client("ops");
    const received: { topic: string; payload: string; properties: unknown }[] = [];
    ops.on("message", (topic, payload, { properties }) =>
      received.push({ topic, payload: String(payload), properties }),
    );
    await ops.subscribeAsync("sw1/#", { qos: 1 });
    const link = await open(openingFor(broker), never);
    expect(link.sessionPresent).toBe(false);
    await link.publish({
      topic: `sw1/${me}/res/ping/1`,
      payload: "{}",
      retain: true,
      expiry: 5000,
      code: "200",
      correlation: "AQI=",
    });
    await expect.poll(() => received).toMatchObject([{ topic: `sw1/${me}/res/ping/1`, payload: "{}" }]);
    expect(received[0]?.properties).toMatchObject({ messageExpiryInterval: 5, userProperties: { code: "200" } });
    await link.close(1000);
    expect((await link.ended).kind).toBe("stopped");
  });

  test("resolves topic aliases to their topics, on each new connection", async () => {
    const broker = await brokerWith();
    const ops = await broker.client("ops");
    const received: string[] = [];
    ops.on("message", (topic, payload) => received.push(`${topic.slice(`sw1/${me}/`.length)} ${payload}`));
    await ops.subscribeAsync(`sw1/${me}/evt/#`, { qos: 1 });
    const wanted: string[] = [];
    // More topics than mosquitto remembers, which are ten.
    for (const order of [
      [1, 1, 2, 3, 1],
      [3, 1, 3, 2, ...Array.from({ length: 30 }, (_, at) => (at * 7) % 13), 3],
    ]) {
      const link = await open(openingFor(broker, { topicAliases: true }), never);
      for (const kind of order) {
        wanted.push(`evt/${kind} ${kind}`);
        await link.publish({ topic: `sw1/${me}/evt/${kind}`, payload: String(kind), retain: false });
      }
      await link.close(1000);
    }
    await expect.poll(() => received).toEqual(wanted);
  });

  test("sends a command again until it is acknowledged, with the rest of its expiry", async () => {
    const broker = await brokerWith();
    const seen: Incoming[] = [];
    const failing = openingFor(broker, {
      receive: async (message) => {
        seen.push(message);
        throw new Error("the disk is full");
      },
    });
    const first = await open(failing, never);
    await first.subscribe([{ filter: `sw1/${me}/cmd/#`, retained: false }]);
    const ops = await broker.client("ops");
    const properties = {
      messageExpiryInterval: 60,
      responseTopic: "a/b",
      correlationData: Buffer.from([1, 2]),
      userProperties: { sig: "s", kid: "k" },
    };
    await ops.publishAsync(`sw1/${me}/cmd/ping/1`, "{}", { qos: 1, properties });
    await first.ended;
    const second = await open(openingFor(broker, { receive: async (message) => void seen.push(message) }), never);
    expect(second.sessionPresent).toBe(true);
    await expect.poll(() => seen.length).toBe(2);
    expect(seen[1]).toMatchObject({
      topic: `sw1/${me}/cmd/ping/1`,
      retained: false,
      responseTopic: "a/b",
      correlation: "AQI=",
    });
    expect(seen[1]?.expirySeconds).toBeGreaterThan(50);
    expect([...(seen[1]?.userProperties ?? [])]).toEqual([
      ["sig", "s"],
      ["kid", "k"],
    ]);
    await second.close(1000);
    const third = await open(openingFor(broker, { receive: async (message) => void seen.push(message) }), never);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(seen.length).toBe(2);
    await third.close(1000);
  });

  test("marks a command that was published as retained", async () => {
    const broker = await brokerWith();
    const seen: Incoming[] = [];
    const link = await open(openingFor(broker, { receive: async (message) => void seen.push(message) }), never);
    await link.subscribe([{ filter: `sw1/${me}/cmd/#`, retained: false }]);
    const ops = await broker.client("ops");
    await ops.publishAsync(`sw1/${me}/cmd/ping/1`, "{}", { qos: 1, retain: true });
    await expect.poll(() => seen.map(({ retained }) => retained)).toEqual([true]);
    await link.close(1000);
  });

  test("does not send a message larger than the board's limit, and the connection stays open", async () => {
    const broker = await brokerWith(["max_packet_size 2000"]);
    const link = await open(openingFor(broker), never);
    const large = link.publish({ topic: `sw1/${me}/event/x`, payload: "x".repeat(3000), retain: false });
    await expect(large).rejects.toMatchObject({ kind: "oversize", code: 2000 });
    // To the byte: what fits is taken.
    for (const size of [1900, 1930, 1940, 1950]) {
      const sent = link.publish({ topic: `sw1/${me}/event/x`, payload: "x".repeat(size), retain: false, expiry: 1000 });
      await sent.catch((error: unknown) => expect(error).toMatchObject({ kind: "oversize" }));
    }
    await link.publish({ topic: `sw1/${me}/event/x`, payload: "x", retain: false });
    await link.close(1000);
  });

  test("that dies leaves the messages in transit undelivered", async () => {
    const broker = await brokerWith();
    const link = await open(openingFor(broker), never);
    await broker.kill();
    await expect(link.publish({ topic: `sw1/${me}/event/x`, payload: "x", retain: false })).rejects.toMatchObject({
      kind: "lost",
    });
    expect((await link.ended).kind).toBe("lost");
    await expect(open(openingFor(broker), never)).rejects.toMatchObject({ kind: "unreachable" });
  });

  test("with a certificate of another authority is refused, and the message names TLS", async () => {
    const broker = await brokerWith();
    const other = await brokerWith();
    const wrong = { ...openingFor(other), url: new URL(broker.url) };
    await expect(open(wrong, never)).rejects.toMatchObject({ kind: "certificate" });
    const { tls } = openingFor(other);
    const trusted = openingFor(broker);
    const stranger = {
      ...trusted,
      tls: { ca: trusted.tls?.ca, certificate: tls?.certificate ?? "", key: tls?.key ?? "" },
    };
    await expect(open(stranger, never)).rejects.toMatchObject({ kind: "certificate" });
  });

  test("receives no connection from an aborted attempt", async () => {
    const silent = createServer(() => {});
    servers.push(silent);
    await new Promise<void>((resolve) => void silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const broker = await brokerWith();
    const stop = new AbortController();
    const opening = open(
      { ...openingFor(broker), url: new URL(`mqtt://127.0.0.1:${port}`), tls: undefined },
      stop.signal,
    );
    stop.abort();
    await expect(opening).rejects.toMatchObject({ kind: "stopped" });
  });
});

describe("another broker", () => {
  async function answering(bytes: readonly number[] | "close"): Promise<LinkOptions> {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => (bytes === "close" ? socket.end() : socket.write(Buffer.from(bytes))));
    });
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    return openingTo(`mqtt://127.0.0.1:${port}`, { sessionExpiry: 0, connectTimeout: 2000 });
  }

  test("that is real and supports only MQTT 3.1.1 is named as such", async () => {
    const aedes = await Aedes.createBroker();
    const server = createServer((socket) => aedes.handle(socket));
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const opening = { ...(await answering("close")), url: new URL(`mqtt://127.0.0.1:${port}`) };
    await expect(open(opening, never)).rejects.toMatchObject({
      kind: "protocol",
      hint: expect.stringContaining("MQTT 5"),
    });
    await new Promise<void>((resolve) => aedes.close(() => resolve()));
  });

  test("that is simulated and supports only MQTT 3.1.1 is named as such", async () => {
    await expect(open(await answering([0x20, 2, 0, 1]), never)).rejects.toMatchObject({
      kind: "protocol",
      message: expect.stringContaining("does not speak MQTT 5"),
    });
    await expect(open(await answering([0x20, 3, 0, 0x84, 0]), never)).rejects.toMatchObject({ kind: "protocol" });
  });

  test("that refuses this board differs from one that is busy", async () => {
    await expect(open(await answering([0x20, 3, 0, 0x87, 0]), never)).rejects.toMatchObject({ kind: "refused" });
    await expect(open(await answering([0x20, 3, 0, 0x89, 0]), never)).rejects.toMatchObject({ kind: "unreachable" });
  });

  test("that sends bytes other than MQTT ends the connection, and nothing else", async () => {
    const random = new SeededRandom(7);
    for (let round = 0; round < 150; round++) {
      const noise = Array.from({ length: 1 + random.integer(60) }, () => random.integer(256));
      const isUp = round % 2 === 0;
      // Half of them come after a good answer, as from a broker that is out of its mind.
      const opening = open(await answering(isUp ? [0x20, 3, 0, 0, 0, ...noise] : noise), AbortSignal.timeout(50));
      const link = await opening.catch((error: unknown) => {
        expect(error).toMatchObject({ name: "LinkError" });
      });
      await link?.close(20);
    }
  });

  test("that hangs up, or answers with something else, changes nothing", async () => {
    await expect(open(await answering("close"), never)).rejects.toMatchObject({ kind: "unreachable" });
    await expect(open(await answering([0xff, 0xff, 0xff, 0xff, 0xff, 1]), never)).rejects.toMatchObject({
      name: "LinkError",
    });
  });
});
