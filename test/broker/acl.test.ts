import type { IPublishPacket, MqttClient } from "mqtt";
import { describe, expect, test } from "vitest";
import { lack, TestFleet } from "./site.ts";

/** Publishes a message. Returns "accepted", "denied", or the error. */
async function publish(client: MqttClient, topic: string): Promise<string> {
  try {
    await client.publishAsync(topic, "{}", { qos: 1 });
    return "accepted";
  } catch (error) {
    return (error as { code?: number }).code === 0x87 ? "denied" : String(error);
  }
}

const own = "sw1/acme/plant7/pi-1";

describe.skipIf(lack)("the generated ACL", () => {
  test.each([
    [`${own}/up`, "accepted"],
    [`${own}/birth`, "accepted"],
    [`${own}/status`, "accepted"],
    [`${own}/event/x`, "accepted"],
    [`${own}/res/ping/1`, "accepted"],
    [`${own}/config/reported`, "accepted"],
    ["sw1/acme/_reply/ops/inbox", "accepted"],
    // Only others write its commands and configuration.
    [`${own}/cmd/ping/1`, "denied"],
    [`${own}/config/desired`, "denied"],
    // A leader publishes for its own site only.
    ["sw1/acme/plant7/_site/leader", "accepted"],
    ["sw1/acme/plant7/_site/status", "accepted"],
    ["sw1/acme/plant7/_site/event/zone", "accepted"],
    ["sw1/acme/plant7/_site/res/x/1", "accepted"],
    ["sw1/acme/plant7/_site/cmd/x/1", "denied"],
    ["sw1/acme/plant8/_site/leader", "denied"],
    ["sw1/acme/plant8/_site/status", "denied"],
    // Another board of its site, a namesake on another site, another fleet.
    ["sw1/acme/plant7/pi-2/up", "denied"],
    ["sw1/acme/plant8/pi-1/up", "denied"],
    ["sw1/other/plant7/pi-1/up", "denied"],
    ["sw1/acme/_all/cmd/ping/1", "denied"],
    ["anything/else", "denied"],
  ])("a board's message to %s is %s", async (topic, expected) => {
    const fleet = await new TestFleet().start();
    const board = await fleet.broker.client("acme/plant7/pi-1");
    expect(await publish(board, topic)).toBe(expected);
  });

  test("a board receives only messages to itself, its site and all boards, regardless of its subscriptions", async () => {
    const fleet = await new TestFleet().start();
    const board = await fleet.broker.client("acme/plant7/pi-1");
    const received: string[] = [];
    board.on("message", (topic) => received.push(topic));
    await board.subscribeAsync("#", { qos: 1 });
    for (const topic of [
      `${own}/cmd/ping/1`,
      `${own}/config/desired`,
      "sw1/acme/_all/cmd/ping/1",
      "sw1/acme/plant7/_site/cmd/x/1",
      "sw1/acme/plant7/pi-2/cmd/ping/1",
      "sw1/acme/plant7/pi-2/status",
      "sw1/acme/plant8/pi-1/cmd/ping/1",
      "sw1/acme/plant8/_site/cmd/x/1",
    ])
      await fleet.ops?.publishAsync(topic, "{}", { qos: 1 });
    await fleet.ops?.publishAsync(`${own}/cmd/ping/last`, "{}", { qos: 1 });
    await expect.poll(() => received.at(-1)).toBe(`${own}/cmd/ping/last`);
    expect(received.slice(0, -1)).toEqual([
      `${own}/cmd/ping/1`,
      `${own}/config/desired`,
      "sw1/acme/_all/cmd/ping/1",
      "sw1/acme/plant7/_site/cmd/x/1",
    ]);
  });

  test("a client that connects with another board's client id keeps its own id", async () => {
    const fleet = await new TestFleet().start();
    const victim = await fleet.broker.client("acme/plant7/pi-2");
    let closed = 0;
    victim.on("close", () => closed++);
    const intruder = await fleet.broker.client("acme/plant7/pi-1", { clientId: "acme/plant7/pi-2" });
    const received: IPublishPacket[] = [];
    victim.on("message", (_topic, _payload, packet) => received.push(packet));
    await victim.subscribeAsync("sw1/acme/plant7/pi-2/cmd/#", { qos: 1 });
    await fleet.ops?.publishAsync("sw1/acme/plant7/pi-2/cmd/ping/1", "{}", { qos: 1 });
    await expect.poll(() => received.length).toBe(1);
    expect(closed).toBe(0);
    expect(await publish(intruder, "sw1/acme/plant7/pi-2/up")).toBe("denied");
  });

  test("a certificate of an unknown authority is rejected", async () => {
    const fleet = await new TestFleet().start();
    const other = await new TestFleet().start();
    const stranger = other.broker.authority.issue("acme/plant7/pi-1");
    await expect(fleet.broker.clientWith(stranger, { reconnectPeriod: 0 })).rejects.toThrow();
  });
});
