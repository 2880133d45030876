import { describe, expect, test } from "vitest";
import { readRemote } from "../../agent/config/remote-file.ts";
import type { Status } from "../../agent/status/schema.ts";
import { bareStatus } from "../support/bare-status.ts";
import { lack, TestFleet } from "./site.ts";

const status = (more: Partial<Status> = {}): Status => ({ ...bareStatus, ...more });

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(lack)("a board and its fleet", () => {
  test("the board publishes its online message first, and its offline message with the same session number", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.status = status();
    board.start();
    await expect.poll(() => fleet.last(board.topic("status"))).toBeDefined();
    expect(fleet.received[0]?.topic).toBe(board.topic("up"));
    expect(fleet.said(board.topic("up"))).toMatchObject([
      { v: 1, state: "online", session: 1, bootId: "boot-1", cause: "connect", clock: "synced" },
    ]);
    expect(fleet.last(board.topic("birth"))).toMatchObject({
      v: 1,
      version: "0.1.0",
      commands: expect.arrayContaining(["ping"]),
    });
    await board.stop();
    await expect
      .poll(() => fleet.last(board.topic("up")))
      .toMatchObject({ state: "offline", session: 1, cause: "stop" });
    // The will was discarded, so the broker does not publish it later.
    board.start();
    await expect.poll(() => fleet.last(board.topic("up"))).toMatchObject({ state: "online", session: 2 });
    expect(fleet.said(board.topic("up"))).toHaveLength(3);
  });

  test("retained messages are current, and expire if the board never returns", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board({ mqtt: { heartbeat: "10s", minInterval: "1s" } });
    board.status = status();
    board.start();
    await expect.poll(() => fleet.last(board.topic("status"))).toBeDefined();
    const found = await fleet.retained(board.topic("status"));
    expect(found).toMatchObject({ retained: true });
    expect(found?.expirySeconds).toBeGreaterThan(25);
    expect(found?.expirySeconds).toBeLessThanOrEqual(30);
    expect(await fleet.retained(board.topic("up"))).toMatchObject({ retained: true, expirySeconds: undefined });
    expect((await fleet.retained(board.topic("birth")))?.expirySeconds).toBeGreaterThan(6 * 86_400);
  });

  test("the broker publishes the will if the board does not reconnect, and only then", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("up"))).toMatchObject({ state: "online" });
    // Another client with its certificate takes over the session; the board takes it back within the will's delay.
    const thief = await fleet.broker.clientWith(board.files, {
      clientId: "thief",
      reconnectPeriod: 0,
      clean: false,
      properties: { sessionExpiryInterval: 60 },
    });
    await expect.poll(() => thief.connected, { timeout: 10_000 }).toBe(false);
    await expect
      .poll(() => fleet.last(board.topic("up")), { timeout: 10_000 })
      .toMatchObject({ state: "online", session: 2 });
    await pause(1000);
    expect(fleet.said(board.topic("up")).map(({ state, session }) => `${state} ${session}`)).toEqual([
      "online 1",
      "online 2",
    ]);
  });

  test("a late will carries the session number of its own connection", async () => {
    const fleet = await new TestFleet().start();
    const name = "acme/plant7/pi-2";
    const topic = "sw1/acme/plant7/pi-2/up";
    // A connection like a board's, with a will that is delayed by one second.
    const payload = Buffer.from(JSON.stringify({ v: 1, state: "offline", session: 7 }));
    const will = { topic, payload, qos: 1 as const, retain: true, properties: { willDelayInterval: 1 } };
    const dying = await fleet.broker.client(name, {
      reconnectPeriod: 0,
      will,
      clean: false,
      properties: { sessionExpiryInterval: 60 },
    });
    dying.stream.destroy();
    await expect.poll(() => fleet.last(topic), { timeout: 10_000 }).toMatchObject({ state: "offline", session: 7 });
  });

  test("the birth is published again only after a change, or if the broker lost the session", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    for (let starts = 0; starts < 3; starts++) {
      board.start();
      await expect
        .poll(() => fleet.said(board.topic("up")).filter(({ state }) => state === "online"))
        .toHaveLength(starts + 1);
      await expect.poll(() => fleet.said(board.topic("birth")).length).toBeGreaterThan(0);
      await pause(300);
      await board.stop();
    }
    expect(fleet.said(board.topic("birth"))).toHaveLength(1);
    await fleet.command("sw1/acme/plant7/pi-1", "capabilities.get");
    board.start();
    await expect.poll(() => fleet.said(board.topic("birth"))).toHaveLength(2);
  });

  test("only relevant changes of the status are published, at most every ten seconds", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board({ mqtt: { minInterval: "2s", heartbeat: "1h" } });
    board.status = status({ board: { tempC: 51 } });
    board.start();
    await expect.poll(() => fleet.said(board.topic("status")).length).toBe(1);
    board.status = status({ board: { tempC: 52.4 }, writtenBootMs: 99 });
    await pause(3000);
    expect(fleet.said(board.topic("status"))).toHaveLength(1);
    board.status = status({ board: { tempC: 61 } });
    await expect.poll(() => fleet.last(board.topic("status")), { timeout: 5000 }).toMatchObject({ tempC: 60 });
    board.status = status({ board: { tempC: 71 } });
    await pause(500);
    expect(fleet.said(board.topic("status"))).toHaveLength(2);
  });

  test("only the leader publishes for the site and accepts its commands, and it announces its end", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.status = status();
    board.start();
    await expect.poll(() => fleet.last(board.topic("status"))).toBeDefined();
    await fleet.command("sw1/acme/plant7/_site", "leader.step-down", { holdOff: 60 }, { id: "EARLY" });
    board.standing = { isLeader: true, leader: "pi-1", term: 17 };
    board.status = status({
      leader: { role: "leader", holder: "pi-1", term: 17, leaseDurationMs: 60_000, missedRenewals: 0 },
    });
    await expect
      .poll(() => fleet.last(board.siteTopic("leader")), { timeout: 5000 })
      .toMatchObject({ holder: "pi-1", term: 17, seq: expect.any(Number) });
    await expect.poll(() => fleet.last(board.siteTopic("status"))).toMatchObject({ v: 1, seq: expect.any(Number) });
    // A new leader subscribes after the former one has unsubscribed.
    await pause(4000);
    const id = await fleet.command("sw1/acme/plant7/_site", "controllers.pause", { controller: "pod-gc", ttl: 60 });
    await expect
      .poll(() => fleet.last(board.siteTopic(`res/controllers.pause/${id}`)), { timeout: 5000 })
      .toMatchObject({ state: "succeeded", code: 200, term: 17 });
    board.standing = { isLeader: false, leader: "pi-2", term: 18 };
    await expect
      .poll(() => fleet.last(board.siteTopic("leader")), { timeout: 5000 })
      .toMatchObject({ holder: null, term: 17 });
    await pause(300);
    await fleet.command(
      "sw1/acme/plant7/_site",
      "controllers.pause",
      { controller: "pod-gc", ttl: 60 },
      { id: "LATE" },
    );
    await pause(500);
    expect(board.effects).toEqual(["pause pod-gc"]);
    expect(fleet.received.filter(({ topic }) => /res\/.*\/(EARLY|LATE)$/.test(topic))).toEqual([]);
    // A leader that stops also deletes its retained name.
    board.standing = { isLeader: true, leader: "pi-1", term: 19 };
    await expect
      .poll(() => fleet.last(board.siteTopic("leader")), { timeout: 5000 })
      .toMatchObject({ holder: "pi-1", term: 19 });
    await board.stop();
    await expect.poll(() => fleet.last(board.siteTopic("leader"))).toMatchObject({ holder: null, term: 19 });
    // Later commands of the site are for the next leader; the broker does not queue them for this board.
    await fleet.command("sw1/acme/plant7/_site", "zone.confirm-dead", { zone: "a", ttl: 600 }, { id: "GONE" });
    board.standing = { isLeader: false, leader: "pi-2", term: 20 };
    board.start();
    await expect.poll(() => fleet.last(board.topic("up")), { timeout: 5000 }).toMatchObject({ session: 2 });
    await pause(500);
    expect(fleet.received.filter(({ topic }) => /res\/.*\/GONE$/.test(topic))).toEqual([]);
  });

  test("settings that were queued at the broker are tried against the link that delivered them, which was up", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    await board.stop();
    const document = JSON.stringify({ v: 1, version: 1, config: { status: { every: "7s" } } });
    await fleet.ops?.publishAsync(board.topic("config/desired"), document, { qos: 1, retain: true });
    board.start();
    await expect.poll(() => readRemote(board.config.state.folder).trial?.before).toMatchObject({ mqtt: true });
  });
});
