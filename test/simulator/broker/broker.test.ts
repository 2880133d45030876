import { connect, type IClientOptions, type MqttClient } from "mqtt";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../../agent/base/clock.ts";
import { noopLogger } from "../../../agent/base/logger.ts";
import { SystemRandom } from "../../../agent/base/random.ts";
import { EmbeddedBroker } from "../../../simulator/broker/broker.ts";
import { isMatch } from "../../../simulator/broker/broker-topics.ts";

let broker: EmbeddedBroker;
const clients: MqttClient[] = [];

beforeEach(async () => {
  broker = new EmbeddedBroker({ clock: new SystemClock(), random: new SystemRandom(), log: noopLogger });
  await broker.start(0);
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.endAsync(true);
  await broker.stop();
});

interface Listener {
  readonly client: MqttClient;
  readonly received: string[];
}

async function join(name: string, options: Partial<IClientOptions> = {}): Promise<Listener> {
  const received: string[] = [];
  const client = connect(`mqtt://127.0.0.1:${broker.port}`, {
    protocolVersion: 5,
    clientId: name,
    reconnectPeriod: 0,
    ...options,
  });
  clients.push(client);
  client.on("message", (topic, payload, { retain, properties }) => {
    const left = properties?.messageExpiryInterval;
    received.push(`${topic}=${payload}${retain ? " retained" : ""}${left === undefined ? "" : ` ${left}s`}`);
  });
  await new Promise<void>((resolve, reject) => {
    client.once("connect", () => resolve());
    client.once("error", reject);
  });
  return { client, received };
}

const lasting = { clean: false, properties: { sessionExpiryInterval: 60 } } as const;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test.each([
  ["a/b", "a/b", true],
  ["a/b", "a/b/c", false],
  ["a/+", "a/b", true],
  ["a/+", "a/b/c", false],
  ["+/+", "a/b", true],
  ["a/#", "a", true],
  ["a/#", "a/b/c", true],
  ["#", "a/b", true],
  ["#", "$SYS/x", false],
  ["+/x", "$SYS/x", false],
  ["$SYS/#", "$SYS/x", true],
  ["a/#/b", "a/x/b", false],
])("the filter %s on the topic %s: %s", (filter, topic, expected) => {
  expect(isMatch(filter, topic)).toBe(expected);
});

test("a message reaches its subscribers, and its sender learns whether there were any", async () => {
  const [one, two] = [await join("one"), await join("two")];
  await one.client.subscribeAsync("a/+", { qos: 1 });
  const properties = { messageExpiryInterval: 30, userProperties: { code: "200" }, correlationData: Buffer.from("x") };
  const packets: unknown[] = [];
  one.client.on("message", (_topic, _payload, packet) => packets.push(packet.properties));
  const codes: unknown[] = [];
  two.client.on("packetreceive", (packet) => codes.push("reasonCode" in packet && packet.reasonCode));
  await two.client.publishAsync("a/b", "1", { qos: 1, properties });
  await two.client.publishAsync("b/b", "2", { qos: 1 });
  expect(codes).toEqual([0, 0x10]);
  await expect.poll(() => one.received).toEqual(["a/b=1 30s"]);
  expect(packets).toMatchObject([{ userProperties: { code: "200" } }]);
});

test("a retained message reaches later subscribers, until it expires or is cleared", async () => {
  const one = await join("one");
  await one.client.publishAsync("a", "kept", { qos: 1, retain: true });
  await one.client.publishAsync("b", "short", { qos: 1, retain: true, properties: { messageExpiryInterval: 1 } });
  await one.client.publishAsync("c", "gone", { qos: 1, retain: true });
  await one.client.publishAsync("c", "", { qos: 1, retain: true });
  await pause(1100);
  const two = await join("two");
  await two.client.subscribeAsync("#", { qos: 1 });
  await expect.poll(() => two.received).toEqual(["a=kept retained"]);
  const three = await join("three");
  await three.client.subscribeAsync({ "#": { qos: 1, rh: 2 } });
  await pause(100);
  expect(three.received).toEqual([]);
});

test("a session keeps messages while its client is away, with the rest of their expiry, and repeats unacknowledged messages", async () => {
  const board = await join("board", lasting);
  await board.client.subscribeAsync({ "cmd/#": { qos: 1, rap: true } });
  await board.client.endAsync();
  const ops = await join("ops");
  await ops.client.publishAsync("cmd/1", "a", { qos: 1, retain: true, properties: { messageExpiryInterval: 60 } });
  await ops.client.publishAsync("cmd/2", "late", { qos: 1, properties: { messageExpiryInterval: 1 } });
  await pause(1100);
  // It takes the message and dies before it acknowledges.
  const dying = await join("board", { ...lasting, customHandleAcks: () => clients.at(-1)?.stream.destroy() });
  await pause(200);
  expect(dying.received).toEqual([]);
  const again = await join("board", lasting);
  await expect.poll(() => again.received).toEqual([expect.stringMatching(/^cmd\/1=a retained 5[89]s$/)]);
});

test("a will is published after its delay, unless the client returned or said goodbye", async () => {
  const ops = await join("ops");
  await ops.client.subscribeAsync("up", { qos: 1 });
  const will = (text: string) => ({
    ...lasting,
    will: {
      topic: "up",
      payload: Buffer.from(text),
      qos: 1 as const,
      retain: true,
      properties: { willDelayInterval: 1 },
    },
  });
  (await join("board", will("first"))).client.stream.destroy();
  await pause(100);
  const second = await join("board", will("second"));
  await pause(1200);
  await second.client.endAsync();
  await pause(1200);
  expect(ops.received).toEqual([]);
  (await join("board", will("third"))).client.stream.destroy();
  await expect.poll(() => ops.received, { timeout: 3000 }).toEqual(["up=third"]);
});

test("a client without an id gets one", async () => {
  const [one, two] = [await join(""), await join("")];
  await one.client.subscribeAsync("a", { qos: 1 });
  await two.client.publishAsync("a", "1", { qos: 1 });
  await expect.poll(() => one.received).toEqual(["a=1"]);
  expect([one, two].every(({ client }) => client.connected)).toBe(true);
});

test("a client with the same id takes over, and the other client gets the reason", async () => {
  const one = await join("board");
  const ends: unknown[] = [];
  one.client.on("disconnect", ({ reasonCode }) => ends.push(reasonCode));
  await join("board");
  await expect.poll(() => ends).toEqual([0x8e]);
});

describe("the simulated broker refuses", () => {
  test("a client of MQTT 3.1.1, in the format of that version", async () => {
    await expect(join("old", { protocolVersion: 4 })).rejects.toThrow("Unacceptable protocol version");
  });

  test("an invalid filter, and accepts the others", async () => {
    const one = await join("one");
    await expect(one.client.subscribeAsync(["a+"], { qos: 1 })).rejects.toThrow();
    await one.client.subscribeAsync("a/+/#", { qos: 1 });
    await one.client.publishAsync("a/b/c", "1", { qos: 1 });
    await expect.poll(() => one.received).toEqual(["a/b/c=1"]);
  });
});
