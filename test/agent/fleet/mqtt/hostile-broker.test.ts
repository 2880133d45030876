import type { Socket } from "node:net";
import protocol, { type Packet } from "mqtt-packet";
import { afterEach, describe, expect, test } from "vitest";
import { type Clock, SystemClock } from "../../../../agent/base/clock.ts";
import type { BrokerLink, Incoming, LinkOptions } from "../../../../agent/fleet/mqtt/link.ts";
import { mqttLinks } from "../../../../agent/fleet/mqtt/mqtt-link.ts";
import { HostileBroker } from "../../../support/broker/hostile-broker.ts";
import { openingTo } from "../../../support/broker/opening.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const brokers: HostileBroker[] = [];
const never = new AbortController().signal;
const me = "sw1/acme/plant7/pi-1";
const hello = { topic: `${me}/up`, payload: "{}", retain: true };
const commands = [{ filter: `${me}/cmd/#`, retained: false }];

afterEach(() => {
  for (const broker of brokers.splice(0)) broker.stop();
});

async function hostile(): Promise<HostileBroker> {
  const broker = await new HostileBroker().start();
  brokers.push(broker);
  return broker;
}

const link = (
  broker: HostileBroker,
  more: Partial<LinkOptions> = {},
  clock: Clock = new SystemClock(),
): Promise<BrokerLink> => mqttLinks(clock)(openingTo(broker.url, more), never);

/** What a promise comes to within a moment. */
const soon = <T>(promise: Promise<T>): Promise<T | "nothing yet"> =>
  Promise.race([promise, new Promise<"nothing yet">((resolve) => setTimeout(resolve, 2000, "nothing yet"))]);

describe("a broker that acknowledges nothing", () => {
  test("is left within the time allowed for a goodbye, and pending calls end", async () => {
    const broker = await hostile();
    broker.acknowledges.publish = false;
    const open = await link(broker);
    const sent = open.publish(hello).catch((error: unknown) => error);
    const begun = performance.now();
    expect(await soon(open.close(200))).toBeUndefined();
    expect(performance.now() - begun).toBeLessThan(1000);
    expect(await sent).toMatchObject({ kind: "lost" });
    expect(await open.ended).toMatchObject({ kind: "stopped" });
    // Not only in words: the connection is gone.
    await expect.poll(() => broker.got.length).toBe(2);
  });

  test.each(["publish", "subscribe"] as const)("counts as lost after half a minute (%s)", async (what) => {
    const broker = await hostile();
    broker.acknowledges[what] = false;
    const clock = new FakeClock();
    const open = await link(broker, {}, clock);
    const asked = (what === "publish" ? open.publish(hello) : open.subscribe(commands)).catch(
      (error: unknown) => error,
    );
    await clock.advance("29s");
    expect(await Promise.race([open.ended, "it stands"])).toBe("it stands");
    await clock.advance("1s");
    expect(await asked).toMatchObject({ kind: "lost" });
    expect(await open.ended).toMatchObject({
      kind: "lost",
      message: expect.stringContaining("does not acknowledge messages of this board"),
    });
  });

  test("is kept if it acknowledges late, but in time", async () => {
    const broker = await hostile();
    broker.acknowledges.publish = false;
    const clock = new FakeClock();
    const open = await link(broker, {}, clock);
    const sent = open.publish(hello);
    await clock.advance("29s");
    await expect.poll(() => broker.published().length).toBe(1);
    broker.send({ cmd: "puback", messageId: broker.published()[0]?.messageId ?? 0, reasonCode: 0 });
    await sent;
    await clock.advance("1h");
    expect(await Promise.race([open.ended, "it stands"])).toBe("it stands");
    await open.close(1000);
  });

  test("without answers even to pings loses the link, and the error names the broker", async () => {
    const broker = await hostile();
    const open = await link(broker, { keepalive: 1000 });
    broker.answersPings = false;
    expect(await open.ended).toMatchObject({
      kind: "lost",
      message: expect.stringContaining("no longer responds"),
    });
  });
});

test("the error for a refused subscription has its filter and the broker's reason", async () => {
  const broker = await hostile();
  broker.reasonFor = (filter) => (filter.includes("_site") ? 0x87 : undefined);
  const open = await link(broker);
  await open.subscribe(commands);
  const site = "sw1/acme/plant7/_site/cmd/#";
  await expect(open.subscribe([...commands, { filter: site, retained: false }])).rejects.toMatchObject({
    kind: "refused",
    code: 0x87,
    message: `the broker 127.0.0.1:${broker.port} refuses a subscription (${site}): not authorized (0x87)`,
  });
  // The connection is as good as before.
  await open.publish(hello);
  await open.close(1000);
});

test("messages at QoS 0 are processed like others, in order, and one that fails has no effect", async () => {
  const broker = await hostile();
  const seen: Incoming[] = [];
  const receive = async (message: Incoming): Promise<void> => {
    seen.push(message);
    if (seen.length === 1) throw new Error("the disk is full");
  };
  const open = await link(broker, { receive });
  const properties = { messageExpiryInterval: 60, responseTopic: "a/b" };
  broker.publish(`${me}/cmd/ping/1`, "first", { qos: 0, properties });
  broker.publish(`${me}/config/desired`, "second", { qos: 0, retain: true });
  broker.publish(`${me}/cmd/ping/3`, "third", { qos: 1, messageId: 7 });
  await expect
    .poll(() => seen.map(({ topic, payload, retained }) => [topic, String(payload), retained]))
    .toEqual([
      [`${me}/cmd/ping/1`, "first", false],
      [`${me}/config/desired`, "second", true],
      [`${me}/cmd/ping/3`, "third", false],
    ]);
  expect(seen[0]).toMatchObject({ expirySeconds: 60, responseTopic: "a/b" });
  await expect.poll(() => broker.got.filter(({ cmd }) => cmd === "puback")).toMatchObject([{ messageId: 7 }]);
  await open.close(1000);
});

test("a message that cannot be processed makes the board end the link", async () => {
  const broker = await hostile();
  const open = await link(broker, { receive: () => Promise.reject(new Error("the disk is full")) });
  broker.publish(`${me}/cmd/ping/1`, "{}");
  expect(await open.ended).toMatchObject({ kind: "stopped", cause: { message: "the disk is full" } });
});

test("a packet of 250 MB is refused when its first bytes arrive", async () => {
  const broker = await hostile();
  const seen: Incoming[] = [];
  const open = await link(broker, { receive: async (message) => void seen.push(message) });
  let sent = 0;
  const flood = (socket: Socket): void => {
    if (!socket.writable || sent >= 250) return;
    sent++;
    socket.write(Buffer.alloc(2 ** 20, 0x61), () => flood(socket));
  };
  broker.after = ({ cmd }, socket) => {
    if (cmd !== "publish") return;
    socket.write(Uint8Array.of(0x32, 0x80, 0x80, 0x80, 0x7d));
    flood(socket);
  };
  await open.publish(hello).catch(() => {});
  expect(await open.ended).toMatchObject({
    kind: "protocol",
    message: expect.stringContaining("sent a packet larger than the agreed maximum"),
  });
  expect(sent).toBeLessThan(20);
  expect(seen).toEqual([]);
});

describe("bytes that are not MQTT 5 after a successful connection are reported as a protocol error of the broker", () => {
  const alias = { topicAlias: 3 };
  const packets: readonly (readonly [string, Packet | Buffer])[] = [
    ["an unsolicited AUTH", { cmd: "auth", reasonCode: 0x18, properties: { authenticationMethod: "x" } }],
    [
      "a topic alias",
      { cmd: "publish", topic: "", payload: "x", qos: 1, messageId: 9, dup: false, retain: false, properties: alias },
    ],
    ["a second CONNACK", { cmd: "connack", reasonCode: 0, sessionPresent: false }],
    ["garbage", Buffer.from([0xff, 0xff, 0xff, 0xff, 0x30, 0x80])],
  ];
  test.each(packets)("%s", async (_, packet) => {
    const broker = await hostile();
    const open = await link(broker);
    broker.after = ({ cmd }, socket) => {
      if (cmd === "publish") socket.write("cmd" in packet ? protocol.generate(packet, { protocolVersion: 5 }) : packet);
    };
    await open.publish(hello).catch(() => {});
    expect(await open.ended).toMatchObject({ kind: "protocol" });
  });
});

test.each([
  [0x8e, "taken"],
  [0x8b, "dismissed"],
  [0x95, "dismissed"],
  [0x87, "refused"],
] as const)("a broker that sends 0x%x as it ends the connection: the link counts as %s", async (reasonCode, kind) => {
  const broker = await hostile();
  const open = await link(broker);
  broker.after = ({ cmd }, socket) => {
    if (cmd === "publish") socket.end(protocol.generate({ cmd: "disconnect", reasonCode }, { protocolVersion: 5 }));
  };
  await open.publish(hello).catch(() => {});
  expect(await open.ended).toMatchObject({ kind });
});

test("files that are not certificates are reported as such, and ignored when the agent ends", async () => {
  const broker = await hostile();
  const stop = new AbortController();
  const tls = { ca: undefined, certificate: "no certificate", key: "no key" };
  const opening = mqttLinks(new SystemClock())(openingTo(`mqtts://127.0.0.1:${broker.port}`, { tls }), stop.signal);
  await expect(opening).rejects.toMatchObject({ kind: "credentials" });
  stop.abort();
});
