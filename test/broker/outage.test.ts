import { describe, expect, test } from "vitest";
import type { FleetBoard } from "../support/fleet-board.ts";
import { lack, TestFleet } from "./site.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(lack)("a broker that is away", () => {
  test("what happened meanwhile is told afterwards, in order, slowly, each once; commands that waited are carried out", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    // The board's process is away, the broker keeps what comes for it.
    await board.stop();
    const kept = await fleet.command(board.topic("").slice(0, -1), "diagnostics.collect");
    // A broker writes down what it took when it comes to it; what was not would be its sender's to send again.
    await pause(2500);
    await fleet.broker.kill();
    board.start();
    for (let n = 0; n < 40; n++) board.fleet?.note({ type: "noise", severity: "info", detail: { n } });
    await pause(500);
    await fleet.broker.restart();
    const noise = () => fleet.heard.filter(({ topic }) => topic === board.topic("event/noise"));
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

  test("an event that is larger than the broker takes is put aside and told, and the link stays", async () => {
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

  test("a broker without our lines in its ACL: events wait and are told later, the link stays", async () => {
    const fleet = await new TestFleet({ acl: "user ops\ntopic readwrite sw1/#\npattern write sw1/%u/up\n" }).start();
    const board = fleet.board();
    board.start();
    await expect
      .poll(() => board.log.said("warn"), { timeout: 10_000 })
      .toContain("the broker refuses what this board sends");
    board.fleet?.note({ type: "x", severity: "info", detail: {} });
    await pause(2000);
    expect(fleet.said(board.topic("up"))).toHaveLength(1);
    // The event itself, and that it was denied.
    expect(board.outbox.usage("event").rows).toBeGreaterThanOrEqual(2);
    expect(board.fleet?.told({ mono: performance.now(), wall: 0 }).mqtt).toMatchObject({ state: "up" });
  });

  test("a broker that lost everything is told everything anew", async () => {
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

  test("a board whose disk is full stays in its fleet, answers, and is not repeated when there is room again", async () => {
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
    await expect
      .poll(() => fleet.said(board.topic("up")).map(({ state, session }) => `${state} ${session}`), { timeout: 15_000 })
      .toContain("online 2");
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
    const sessions = () => fleet.said(board.topic("up")).map(({ state, session }) => `${state} ${session}`);
    await board.stop();
    board.start();
    await expect.poll(sessions, { timeout: 10_000 }).toContain("online 3");
  });
});

describe.skipIf(lack)("answers", () => {
  test("go where the sender asked, if that is a place for it; else where they always go", async () => {
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
    expect(fleet.heard.find(({ topic }) => topic === board.topic("res/ping/B"))?.code).toBe("200");
    expect(fleet.heard.some(({ topic }) => topic.includes("agent.restart"))).toBe(false);
  });

  test("are given to what was sent at QoS 0 as well, and settings that were are taken", async () => {
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
    // Retained at QoS 0, it comes to a board that was away.
    await board.stop();
    const next = JSON.stringify({ v: 1, version: 2, config: { no: { such: "setting" } } });
    await fleet.ops?.publishAsync(board.topic("config/desired"), next, { qos: 0, retain: true });
    board.start();
    await expect
      .poll(() => fleet.last(board.topic("config/reported")), { timeout: 5000 })
      .toMatchObject({ desiredVersion: 2, state: "rejected" });
  });
});

describe.skipIf(lack)("a broker whose packets are too small", () => {
  const told = (board: FleetBoard) => board.fleet?.told({ mono: performance.now(), wall: 0 });

  test("for a birth: that is told in the status, and the rest goes on", async () => {
    const fleet = await new TestFleet({ more: ["max_packet_size 230"] }).start();
    const board = fleet.board();
    board.start();
    await expect
      .poll(() => told(board)?.problems, { timeout: 5000 })
      .toMatchObject([{ type: "BrokerPacketLimit", hint: expect.stringContaining("max_packet_size") }]);
    await expect.poll(() => fleet.last(board.topic("up"))).toMatchObject({ state: "online" });
    expect(told(board)?.mqtt).toMatchObject({ state: "up" });
  });

  test("even for a CONNECT: such a broker only hangs up, and the hint says what may be its reason", async () => {
    const fleet = await new TestFleet({ more: ["max_packet_size 120"] }).start();
    const board = fleet.board();
    board.start();
    await expect
      .poll(() => told(board)?.mqtt?.error, { timeout: 5000 })
      .toMatchObject({ hint: expect.stringContaining("max_packet_size") });
    expect(told(board)?.mqtt?.state).not.toBe("up");
  });
});
