import { describe, expect, test } from "vitest";
import { Authority } from "../support/broker/mosquitto.ts";
import { lack, TestFleet } from "./site.ts";

const now = () => ({ mono: performance.now(), wall: 0 });

describe.skipIf(lack)("the credentials of the link", () => {
  test("a renewed certificate is used, and the offline message names the reason", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    board.use(fleet.broker.authority.issue("acme/plant7/pi-1"));
    expect(await board.fleet?.reloadCredentials(true)).toMatchObject({ outcome: "done", result: { changed: true } });
    expect(fleet.said(board.topic("up"))).toHaveLength(1);
    const id = await fleet.command(board.topic("").slice(0, -1), "credentials.reload");
    await expect
      .poll(() => fleet.last(board.topic(`res/credentials.reload/${id}`)), { timeout: 15_000 })
      .toMatchObject({ state: "succeeded", result: { changed: true } });
    expect(fleet.said(board.topic("up")).map(({ state, cause }) => `${state} ${cause}`)).toEqual([
      "online connect",
      "offline reload",
      "online connect",
    ]);
    expect(await board.fleet?.reloadCredentials(false)).toMatchObject({ outcome: "done", result: { changed: false } });
  });

  test("files that are not a pair, or belong to another board, do not change anything and are reported", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    const mine = fleet.broker.authority.issue("acme/plant7/pi-1");
    const theirs = fleet.broker.authority.issue("acme/plant7/pi-2");
    board.use({ certificate: mine.certificate, key: theirs.key });
    expect(await board.fleet?.reloadCredentials(false)).toMatchObject({
      outcome: "refused",
      message: expect.stringContaining("does not belong to"),
    });
    board.use(theirs);
    expect(await board.fleet?.reloadCredentials(false)).toMatchObject({
      outcome: "refused",
      message: expect.stringContaining("is for acme/plant7/pi-2"),
    });
    expect(fleet.said(board.topic("up"))).toHaveLength(1);
    expect(board.fleet?.contribution(now()).mqtt).toMatchObject({ state: "up" });
  });

  test("a certificate that the broker rejects is replaced by the previous one", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    const stranger = new Authority(fleet.broker.folder, "another authority");
    board.use(stranger.issue("acme/plant7/pi-1"));
    stranger.remove();
    const reload = board.fleet?.reloadCredentials(false);
    await expect
      .poll(() => board.fleet?.contribution(now()).mqtt?.error?.message, { timeout: 20_000 })
      .toContain("TLS");
    expect(await reload).toMatchObject({ outcome: "failed", result: { rolledBack: true } });
    await expect.poll(() => board.fleet?.contribution(now()).mqtt?.state, { timeout: 20_000 }).toBe("up");
    const id = await fleet.command(board.topic("").slice(0, -1), "ping");
    await expect
      .poll(() => fleet.last(board.topic(`res/ping/${id}`)), { timeout: 10_000 })
      .toMatchObject({ state: "succeeded" });
  });

  test("a board without its files reports what is missing, and connects once they exist", async () => {
    const fleet = await new TestFleet().start();
    const board = fleet.board();
    board.use({ certificate: "/dev/null", key: "/dev/null" });
    board.start();
    await expect
      .poll(() => board.fleet?.contribution(now()).mqtt)
      .toMatchObject({
        state: "down",
        error: { message: expect.stringContaining("is not a PEM certificate"), hint: expect.any(String) },
      });
    board.use(fleet.broker.authority.issue("acme/plant7/pi-1"));
    await expect.poll(() => board.fleet?.contribution(now()).mqtt?.state, { timeout: 10_000 }).toBe("up");
  });

  test("two boards with one certificate notice it, report it once, and stop evicting each other", async () => {
    const fleet = await new TestFleet().start();
    const options = { mqtt: { reconnect: { first: "100ms", most: "3s", refused: "1s" } } };
    const board = fleet.board(options);
    board.start();
    await expect.poll(() => fleet.last(board.topic("birth"))).toBeDefined();
    const twin = fleet.board({ ...options, site: "plant8" });
    twin.use(board.files);
    Object.assign(twin, { identity: board.identity });
    twin.start();
    await expect
      .poll(() => [board, twin].flatMap(({ log }) => log.said("error")), { timeout: 60_000, interval: 250 })
      .toContain("another client uses this board's identity");
  });
});
