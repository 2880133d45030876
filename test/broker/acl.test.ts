import type { IPublishPacket, MqttClient } from "mqtt";
import { describe, expect, test } from "vitest";
import { lack, TestFleet } from "./site.ts";

/** The broker's word on a message: "taken", or its reason code. */
async function publish(client: MqttClient, topic: string): Promise<string> {
  try {
    await client.publishAsync(topic, "{}", { qos: 1 });
    return "taken";
  } catch (error) {
    return (error as { code?: number }).code === 0x87 ? "denied" : String(error);
  }
}

const own = "sw1/acme/plant7/pi-1";

describe.skipIf(lack)("the generated ACL", () => {
  test.each([
    [`${own}/up`, "taken"],
    [`${own}/birth`, "taken"],
    [`${own}/status`, "taken"],
    [`${own}/event/x`, "taken"],
    [`${own}/res/ping/1`, "taken"],
    [`${own}/config/reported`, "taken"],
    ["sw1/acme/_reply/ops/inbox", "taken"],
    // Its own commands and configuration are for others to write.
    [`${own}/cmd/ping/1`, "denied"],
    [`${own}/config/desired`, "denied"],
    // While it leads it speaks for its site, and for no other one.
    ["sw1/acme/plant7/_site/leader", "taken"],
    ["sw1/acme/plant7/_site/status", "taken"],
    ["sw1/acme/plant7/_site/event/zone", "taken"],
    ["sw1/acme/plant7/_site/res/x/1", "taken"],
    ["sw1/acme/plant7/_site/cmd/x/1", "denied"],
    ["sw1/acme/plant8/_site/leader", "denied"],
    ["sw1/acme/plant8/_site/status", "denied"],
    // Another board of its site, its namesake of another one, another fleet.
    ["sw1/acme/plant7/pi-2/up", "denied"],
    ["sw1/acme/plant8/pi-1/up", "denied"],
    ["sw1/other/plant7/pi-1/up", "denied"],
    ["sw1/acme/_all/cmd/ping/1", "denied"],
    ["anything/else", "denied"],
  ])("a board that writes %s is %s", async (topic, expected) => {
    const fleet = await new TestFleet().start();
    const board = await fleet.broker.client("acme/plant7/pi-1");
    expect(await publish(board, topic)).toBe(expected);
  });

  test("a board hears what is for it, its site and everybody, whatever it subscribes to", async () => {
    const fleet = await new TestFleet().start();
    const board = await fleet.broker.client("acme/plant7/pi-1");
    const heard: string[] = [];
    board.on("message", (topic) => heard.push(topic));
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
    await expect.poll(() => heard.at(-1)).toBe(`${own}/cmd/ping/last`);
    expect(heard.slice(0, -1)).toEqual([
      `${own}/cmd/ping/1`,
      `${own}/config/desired`,
      "sw1/acme/_all/cmd/ping/1",
      "sw1/acme/plant7/_site/cmd/x/1",
    ]);
  });

  test("who comes with another board's client id keeps his own", async () => {
    const fleet = await new TestFleet().start();
    const victim = await fleet.broker.client("acme/plant7/pi-2");
    let closed = 0;
    victim.on("close", () => closed++);
    const intruder = await fleet.broker.client("acme/plant7/pi-1", { clientId: "acme/plant7/pi-2" });
    const heard: IPublishPacket[] = [];
    victim.on("message", (_topic, _payload, packet) => heard.push(packet));
    await victim.subscribeAsync("sw1/acme/plant7/pi-2/cmd/#", { qos: 1 });
    await fleet.ops?.publishAsync("sw1/acme/plant7/pi-2/cmd/ping/1", "{}", { qos: 1 });
    await expect.poll(() => heard.length).toBe(1);
    expect(closed).toBe(0);
    expect(await publish(intruder, "sw1/acme/plant7/pi-2/up")).toBe("denied");
  });

  test("a certificate of a stranger's authority does not come in at all", async () => {
    const fleet = await new TestFleet().start();
    const other = await new TestFleet().start();
    const stranger = other.broker.authority.issue("acme/plant7/pi-1");
    await expect(fleet.broker.clientWith(stranger, { reconnectPeriod: 0 })).rejects.toThrow();
  });
});
