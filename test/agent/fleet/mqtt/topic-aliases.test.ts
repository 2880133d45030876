import { afterEach, expect, test } from "vitest";
import { SystemClock } from "../../../../agent/base/clock.ts";
import type { BrokerLink } from "../../../../agent/fleet/mqtt/link.ts";
import { mqttLinks } from "../../../../agent/fleet/mqtt/mqtt-link.ts";
import { HostileBroker } from "../../../support/broker/hostile-broker.ts";
import { openingTo } from "../../../support/broker/opening.ts";

const me = "sw1/acme/plant7/pi-1";
const brokers: HostileBroker[] = [];

afterEach(() => {
  for (const broker of brokers.splice(0)) broker.stop();
});

async function brokerThatAllows(topicAliasMaximum: number | undefined): Promise<HostileBroker> {
  const broker = await new HostileBroker().start();
  brokers.push(broker);
  if (topicAliasMaximum !== undefined) broker.connack = { topicAliasMaximum };
  return broker;
}

const link = (broker: HostileBroker, topicAliases = true): Promise<BrokerLink> =>
  mqttLinks(new SystemClock())(openingTo(broker.url, { topicAliases }), new AbortController().signal);

async function publish(open: BrokerLink, ...documents: readonly string[]): Promise<void> {
  for (const document of documents)
    await open.publish({ topic: `${me}/${document}`, payload: document, retain: false });
}

/** Each message as it was on the wire: "payload: topic #alias". */
const sent = (broker: HostileBroker): readonly string[] =>
  broker
    .published()
    .map(({ topic, payload, properties }) =>
      `${payload}: ${topic.slice(me.length + 1)} #${properties?.topicAlias ?? ""}`.replace("  ", " "),
    );

test("a topic is sent in full once, as an alias from then on, and in full again on the next connection", async () => {
  const broker = await brokerThatAllows(10);
  const first = await link(broker);
  await publish(first, "status", "birth", "status", "status", "birth");
  await first.close(1000);
  expect(sent(broker)).toEqual(["status: status #1", "birth: birth #2", "status: #1", "status: #1", "birth: #2"]);
  broker.got.splice(0);
  const second = await link(broker);
  await publish(second, "birth", "status", "birth");
  await second.close(1000);
  expect(sent(broker)).toEqual(["birth: birth #1", "status: status #2", "birth: #1"]);
});

test("a message left unacknowledged at the end of a connection is sent again with its topic", async () => {
  const broker = await brokerThatAllows(10);
  const first = await link(broker);
  await publish(first, "status");
  broker.acknowledges.publish = false;
  broker.after = ({ cmd }, socket) => void (cmd === "publish" && socket.destroy());
  await expect(publish(first, "status")).rejects.toMatchObject({ kind: "lost" });
  await first.ended;
  broker.acknowledges.publish = true;
  broker.after = () => {};
  const second = await link(broker);
  await publish(second, "status");
  await second.close(1000);
  expect(sent(broker)).toEqual(["status: status #1", "status: #1", "status: status #1"]);
});

test("if a broker permits two aliases, the one unused for longest is replaced", async () => {
  const broker = await brokerThatAllows(2);
  const open = await link(broker);
  await publish(open, "status", "birth", "status", "up", "status", "birth");
  await open.close(1000);
  expect(sent(broker)).toEqual([
    "status: status #1",
    "birth: birth #2",
    "status: #1",
    "up: up #2",
    "status: #1",
    "birth: birth #2",
  ]);
});

test("a broker that permits any number gets no more than sixteen", async () => {
  const broker = await brokerThatAllows(65_535);
  const open = await link(broker);
  await publish(open, ...Array.from({ length: 40 }, (_, at) => `res/ping/${at}`), "res/ping/39");
  await open.close(1000);
  const given = broker.published().map(({ properties }) => properties?.topicAlias ?? 0);
  expect(Math.max(...given)).toBe(16);
  expect(Math.min(...given)).toBe(1);
  expect(sent(broker).at(-1)).toMatch(/^res\/ping\/39: #/);
});

test.each([
  ["if the setting is off", 10, false],
  ["if the broker does not support aliases", undefined, true],
])("topics are always sent in full %s", async (_, allowed, isOn) => {
  const broker = await brokerThatAllows(allowed);
  const open = await link(broker, isOn);
  await publish(open, "status", "status");
  await open.close(1000);
  expect(sent(broker)).toEqual(["status: status #", "status: status #"]);
});
