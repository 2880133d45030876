import { describe, expect, test } from "vitest";
import type { FleetBoard } from "../support/broker/fleet-board.ts";
import { blocks } from "../support/operator-docs.ts";
import { lack, soon, TestFleet } from "./site.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(lack)("an outage of the broker", () => {
  test("events of the outage are published afterwards, once, in order, at a limited rate; queued commands are executed", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    // The board's process is stopped, and the broker queues messages for it.
    await board.stop();
    const kept = await fleet.command(board.topic("").slice(0, -1), "diagnostics.collect");
    // A broker writes accepted messages to disk later; the senders of the others would have to send them again.
    await pause(2500);
    await fleet.broker.kill();
    board.start();
    for (let n = 0; n < 40; n++) board.fleet?.note({ type: "noise", severity: "info", detail: { n } });
    await pause(500);
    await fleet.broker.restart();
    const noise = () => fleet.received.filter(({ topic }) => topic === board.topic("event/noise"));
    await expect.poll(() => noise().length, { timeout: 30_000, interval: 50 }).toBeGreaterThan(0);
    const begun = performance.now();
    await expect.poll(() => noise().length, { timeout: 30_000 }).toBe(40);
    // Forty at ten a second.
    expect(performance.now() - begun).toBeGreaterThan(3500);
    expect(noise().map(({ payload }) => JSON.parse(payload).detail.n)).toEqual(Array.from({ length: 40 }, (_, n) => n));
    const seqs = noise().map(({ payload }) => JSON.parse(payload).seq);
    expect(seqs.every((seq, at) => at === 0 || seq === seqs[at - 1] + 1)).toBe(true);
    expect(noise()[0]?.expirySeconds).toBeGreaterThan(86_000);
    await expect
      .poll(() => fleet.last(board.topic(`res/diagnostics.collect/${kept}`)), { timeout: 20_000 })
      .toMatchObject({ state: "succeeded" });
    expect(board.effects).toEqual(["diagnostics"]);
    expect(board.outbox.usage("event").rows).toBe(0);
  });

  test("an event above the broker's size limit is put aside and reported, and the link stays up", async () => {
    const fleet = await new TestFleet({ more: ["max_packet_size 3000"] }).start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    board.fleet?.note({ type: "large", severity: "info", detail: { text: "x".repeat(5000) } });
    await expect
      .poll(() => fleet.last(board.topic("event/outbox.oversize")), { timeout: 15_000 })
      .toMatchObject({
        severity: "warning",
        detail: { topic: board.topic("event/large"), limit: 3000 },
      });
    await pause(1000);
    expect(board.outbox.usage("dead").rows).toBe(1);
    expect(fleet.said(board.topic("up"))).toHaveLength(1);
  });

  test("a message on which the broker hangs up is set aside after a few connections, and everything else arrives", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    // mosquitto ends the connection of a client that publishes to more than 200 levels.
    const topic = `sw1/acme/_reply${"/a".repeat(250)}`;
    const answer = { topic, payload: "{}", retain: false, properties: "{}", rank: 1, ttl: 600_000 };
    board.outbox.respond(answer, { boot: board.bootId, mono: performance.now() }, () => {});
    board.fleet?.note({ type: "noise", severity: "info", detail: {} });
    await soon(() => fleet.last(board.topic("event/noise")), 60).toBeDefined();
    await soon(() => fleet.last(board.topic("event/outbox.hangup")), 60).toMatchObject({ detail: { topic } });
    const connections = fleet.said(board.topic("up")).length;
    expect(connections).toBeLessThanOrEqual(6);
    expect([board.outbox.usage("dead").rows, board.outbox.usage("response").rows]).toEqual([1, 0]);
    await fleet.command(board.topic("").slice(0, -1), "ping", {}, { id: "LATER" });
    await soon(() => fleet.last(board.topic("res/ping/LATER")), 60).toMatchObject({ state: "succeeded" });
    expect(fleet.said(board.topic("up"))).toHaveLength(connections);
    expect(fleet.said(board.topic("event/identity.duplicate"))).toEqual([]);
  });

  test("with a broker whose ACL lacks the board's rules, events wait in the outbox and the link stays up", async () => {
    const fleet = await new TestFleet({ acl: "user ops\ntopic readwrite sw1/#\npattern write sw1/%u/up\n" }).start();
    const board = fleet.board();
    board.start();
    await expect
      .poll(() => board.log.said("warn"), { timeout: 10_000 })
      .toContain("the broker refuses messages from this board");
    board.fleet?.note({ type: "x", severity: "info", detail: {} });
    await pause(2000);
    expect(fleet.said(board.topic("up"))).toHaveLength(1);
    // The event itself, and the report that it was denied.
    expect(board.outbox.usage("event").rows).toBeGreaterThanOrEqual(2);
    expect(board.fleet?.contribution({ mono: performance.now(), wall: 0 }).mqtt).toMatchObject({ state: "up" });
  });

  test("after a broker lost its state the board publishes its birth again and answers commands", async () => {
    const fleet = await new TestFleet({ more: ["persistence false"] }).start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.said(board.topic("birth"))).toHaveLength(1);
    await fleet.broker.kill();
    await fleet.broker.restart();
    await expect.poll(() => fleet.ops?.connected, { timeout: 10_000 }).toBe(true);
    await fleet.ops?.subscribeAsync("sw1/acme/#", { qos: 1 });
    await expect.poll(() => fleet.said(board.topic("birth")).length, { timeout: 20_000 }).toBeGreaterThan(1);
    const id = await fleet.command("sw1/acme/plant7/pi-1", "ping");
    await expect
      .poll(() => fleet.last(board.topic(`res/ping/${id}`)), { timeout: 10_000 })
      .toMatchObject({ state: "succeeded" });
  });

  test("a board with a full disk stays connected and answers, and does not repeat anything once it has room", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth")), { timeout: 5000 }).toBeDefined();
    board.fleet?.note({ type: "early", severity: "info", detail: {} });
    board.fillDisk(true);
    const me = board.topic("").slice(0, -1);
    const ping = await fleet.command(me, "ping");
    const change = await fleet.command(me, "log.level", { level: "debug", ttl: 60 });
    await expect
      .poll(() => fleet.last(board.topic(`res/ping/${ping}`)), { timeout: 5000 })
      .toMatchObject({ state: "succeeded" });
    await expect
      .poll(() => fleet.last(board.topic(`res/log.level/${change}`)), { timeout: 5000 })
      .toMatchObject({ state: "rejected", code: 507 });
    await expect.poll(() => fleet.said(board.topic("event/early")).length, { timeout: 15_000 }).toBe(1);
    // Its acknowledgement, too.
    await pause(1500);
    await fleet.broker.kill();
    await fleet.broker.restart();
    // On a busy machine a connection may break before it is announced, and still counts.
    const lastSession = (): number =>
      Math.max(
        ...fleet.said(board.topic("up")).map(({ state, session }) => (state === "online" ? Number(session) : 0)),
      );
    await expect.poll(lastSession, { timeout: 15_000 }).toBeGreaterThan(1);
    const announced = await fleet.command(me, "capabilities.get");
    await expect
      .poll(() => fleet.last(board.topic(`res/capabilities.get/${announced}`)), { timeout: 5000 })
      .toMatchObject({ state: "succeeded" });
    board.fillDisk(false);
    board.fleet?.note({ type: "late", severity: "info", detail: {} });
    await expect.poll(() => fleet.said(board.topic("event/late")).length, { timeout: 25_000 }).toBe(1);
    await expect.poll(() => board.outbox.usage("event").rows, { timeout: 15_000 }).toBe(0);
    expect(fleet.said(board.topic("event/early"))).toHaveLength(1);
    expect(fleet.last(board.topic("event/late"))).toMatchObject({ seq: 2 });
    const before = lastSession();
    await board.stop();
    board.start();
    await expect.poll(lastSession, { timeout: 10_000 }).toBeGreaterThan(before);
  });
});

describe.skipIf(lack)("answers", () => {
  test("go to a permitted response topic of the sender, and otherwise to the usual topic", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    const ask = async (id: string, responseTopic: string): Promise<void> => {
      const properties = { messageExpiryInterval: 60, responseTopic, correlationData: Buffer.from("me") };
      const payload = JSON.stringify({ v: 1, id, name: "ping", by: "ops:alice" });
      await fleet.ops?.publishAsync(board.topic(`cmd/ping/${id}`), payload, { qos: 1, properties });
    };
    await ask("A", "sw1/acme/_reply/ops/inbox");
    await expect.poll(() => fleet.last("sw1/acme/_reply/ops/inbox")).toMatchObject({ id: "A", code: 200 });
    expect(await fleet.retained("sw1/acme/_reply/ops/inbox")).toBeUndefined();
    await ask("B", "sw1/acme/plant7/pi-2/cmd/agent.restart/1");
    await expect.poll(() => fleet.last(board.topic("res/ping/B"))).toMatchObject({ id: "B" });
    const retained = await fleet.retained(board.topic("res/ping/B"));
    expect(retained?.expirySeconds).toBeGreaterThan(300);
    expect(fleet.received.find(({ topic }) => topic === board.topic("res/ping/B"))?.code).toBe("200");
    expect(fleet.received.some(({ topic }) => topic.includes("agent.restart"))).toBe(false);
    // The broker ends the connection of a client that publishes to so many levels.
    await ask("C", `sw1/acme/_reply/${"a/".repeat(210)}a`);
    await expect.poll(() => fleet.last(board.topic("res/ping/C"))).toMatchObject({ id: "C" });
    expect(fleet.last(board.topic("up"))).toMatchObject({ state: "online", session: 1 });
  });

  test("are also sent for commands at QoS 0, and settings at QoS 0 are processed", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    const ping = JSON.stringify({ v: 1, id: "Q0", name: "ping", by: "ops:alice" });
    const properties = { messageExpiryInterval: 60 };
    await fleet.ops?.publishAsync(board.topic("cmd/ping/Q0"), ping, { qos: 0, properties });
    await expect.poll(() => fleet.last(board.topic("res/ping/Q0"))).toMatchObject({ state: "succeeded" });
    const desired = JSON.stringify({ v: 1, version: 1, config: { no: { such: "setting" } } });
    await fleet.ops?.publishAsync(board.topic("config/desired"), desired, { qos: 0, retain: true });
    await expect
      .poll(() => fleet.last(board.topic("config/reported")), { timeout: 5000 })
      .toMatchObject({ desiredVersion: 1, state: "rejected" });
    // Retained at QoS 0, it reaches a board that was offline.
    await board.stop();
    const next = JSON.stringify({ v: 1, version: 2, config: { no: { such: "setting" } } });
    await fleet.ops?.publishAsync(board.topic("config/desired"), next, { qos: 0, retain: true });
    board.start();
    await expect
      .poll(() => fleet.last(board.topic("config/reported")), { timeout: 5000 })
      .toMatchObject({ desiredVersion: 2, state: "rejected" });
  });
});

describe.skipIf(lack)("messages larger than a board accepts", () => {
  const conf = blocks("").find((text) => text.includes("per_listener_settings")) ?? "";
  const line = /^max_packet_size \d+$/m.exec(conf)?.[0] ?? "";

  test.each([
    ["in their payload", 70_000, 0],
    ["by a few bytes", 65_520, 0],
    ["in their properties", 60_000, 6000],
  ])("%s do not block others, with the configuration of docs/operator.md", async (_, payload, properties) => {
    const fleet = await new TestFleet({ more: [line] }).start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    for (let n = 0; n < 9; n++) {
      const sender = await fleet.broker.client("newcomer", { reconnectPeriod: 0 });
      const gone = new Promise<void>((resolve) => sender.once("close", () => resolve()));
      const userProperties = { p: "y".repeat(properties) };
      sender
        .publishAsync(board.topic(`cmd/ping/large-${n}`), "x".repeat(payload), {
          qos: 1,
          properties: { userProperties },
        })
        .catch(() => {});
      await gone;
    }
    const id = await fleet.command(board.topic("").slice(0, -1), "ping");
    await expect
      .poll(() => fleet.last(board.topic(`res/ping/${id}`)), { timeout: 20_000 })
      .toMatchObject({ state: "succeeded" });
    expect(fleet.broker.log).toContain("disconnected due to oversize packet");
    expect(fleet.broker.log).not.toContain("too large outgoing PUBLISH for acme/plant7");
  });
});

describe.skipIf(lack)("a broker whose packet limit is too small", () => {
  const contribution = (board: FleetBoard) => board.fleet?.contribution({ mono: performance.now(), wall: 0 });

  test("for a birth is reported in the status, and the link stays up", async () => {
    const fleet = await new TestFleet({ more: ["max_packet_size 230"] }).start();
    const board = fleet.board();
    board.start();
    await expect
      .poll(() => contribution(board)?.problems, { timeout: 5000 })
      .toMatchObject([{ type: "BrokerPacketLimit", hint: expect.stringContaining("max_packet_size") }]);
    await expect.poll(() => fleet.last(board.topic("up"))).toMatchObject({ state: "online" });
    expect(contribution(board)?.mqtt).toMatchObject({ state: "up" });
  });

  test("even for a CONNECT closes the connection, and the hint names the possible cause", async () => {
    const fleet = await new TestFleet({ more: ["max_packet_size 120"] }).start();
    const board = fleet.board();
    board.start();
    await expect
      .poll(() => contribution(board)?.mqtt?.error, { timeout: 5000 })
      .toMatchObject({ hint: expect.stringContaining("max_packet_size") });
    expect(contribution(board)?.mqtt?.state).not.toBe("up");
  });
});
