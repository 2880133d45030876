import { describe, expect, test } from "vitest";
import type { JsonRecord } from "../../../../agent/base/json.ts";
import type { Standing } from "../../../../agent/commands/desk/controls.ts";
import { loadConfig } from "../../../../agent/config/load.ts";
import { Reports } from "../../../../agent/fleet/reporting/reports.ts";
import { States } from "../../../../agent/fleet/reporting/states.ts";
import type { Status } from "../../../../agent/status/schema.ts";
import { snapshot } from "../../../../agent/status/snapshot.ts";
import { Database } from "../../../../storage/database/database.ts";
import { Memo } from "../../../../storage/memo.ts";
import { stateMigrations } from "../../../../storage/schema.ts";
import { at, healthy, leading } from "../../../support/site-status.ts";

const pragmas = {
  synchronous: "FULL",
  cacheKiB: 256,
  mmapMiB: 0,
  walAutocheckpointPages: 1000,
  journalSizeLimitKiB: 1024,
} as const;

test("the site's status is published only from a snapshot of the current term", () => {
  const states = new States();
  let standing: Standing = { isLeader: true, leader: "edge-02", term: 18 };
  let status: Status | undefined = snapshot(
    healthy({ leader: { ...leading(), role: "standby", term: 17 } }),
    undefined,
  );
  const reports = new Reports({
    identity: { fleet: "acme", site: "plant7", board: "edge-02" },
    config: loadConfig({ file: undefined, env: {}, hostname: "edge-02", profile: undefined }).config,
    memo: new Memo(Database.open({ file: ":memory:", migrations: stateMigrations, pragmas })),
    states,
    clockState: () => "synced",
    status: () => status,
    standing: () => standing,
    birth: () => ({}),
    reported: () => undefined,
  });
  const said = (): unknown => {
    const found = [...states.list()].find(({ topic }) => topic === "sw1/acme/plant7/_site/status");
    return found && JSON.parse(String(found.payload));
  };
  reports.begin(1, false);
  reports.update(at(3600));
  expect(said()).toBeUndefined();
  status = snapshot(healthy({ leader: { ...leading(), term: 17 } }), undefined);
  reports.update(at(3601));
  expect(said()).toBeUndefined();
  status = snapshot(healthy({ leader: { ...leading(), term: 18 } }), undefined);
  reports.update(at(3602));
  expect(said()).toMatchObject({ holder: "edge-02", term: 18, zones: [{ name: "plant7-a" }] });
  // The next leader reports what still waits for the broker after this board's term.
  standing = { isLeader: false, leader: "edge-01", term: 19 };
  reports.update(at(3603));
  expect(said()).toBeUndefined();
});

test("the leader's start is that of the term, not of the connection", () => {
  const states = new States();
  const reports = new Reports({
    identity: { fleet: "acme", site: "plant7", board: "edge-02" },
    config: loadConfig({ file: undefined, env: {}, hostname: "edge-02", profile: undefined }).config,
    memo: new Memo(Database.open({ file: ":memory:", migrations: stateMigrations, pragmas })),
    states,
    clockState: () => "synced",
    status: () => snapshot(healthy({ leader: { ...leading(), term: 18 } }), undefined),
    standing: () => ({ isLeader: true, leader: "edge-02", term: 18 }),
    birth: () => ({}),
    reported: () => undefined,
  });
  const since = (): unknown => {
    const found = [...states.list()].find(({ topic }) => topic === "sw1/acme/plant7/_site/leader");
    return found && JSON.parse(String(found.payload)).since;
  };
  for (const session of [1, 2]) {
    reports.begin(session, true);
    reports.update(at(3600 * session));
    expect(since()).toBe(new Date(at(600).wall).toISOString());
  }
});

describe("messages retained by the broker", () => {
  /** A board over its connections and its processes; the broker has what it was sent. */
  class Board {
    readonly database = Database.open({ file: ":memory:", migrations: stateMigrations, pragmas });
    document: JsonRecord | undefined = {
      desiredVersion: 1,
      appliedVersion: 1,
      state: "in-sync",
      hash: "9f",
      errors: [],
    };
    session = 0;
    now = 0;
    states = new States();
    reports = this.process();

    process(): Reports {
      this.states = new States();
      this.reports = new Reports({
        identity: { fleet: "acme", site: "plant7", board: "edge-02" },
        config: loadConfig({ file: undefined, env: {}, hostname: "edge-02", profile: undefined }).config,
        memo: new Memo(this.database),
        states: this.states,
        clockState: () => "synced",
        status: () => undefined,
        standing: () => ({ isLeader: false, leader: "edge-01", term: 18 }),
        birth: () => ({ version: "0.1.0" }),
        reported: () => this.document,
      });
      return this.reports;
    }

    /** What is sent over a connection that lasts so many seconds. */
    connection(seconds: number, sessionPresent = true, isTaken = true): string[] {
      this.reports.begin(++this.session, sessionPresent);
      const sent: string[] = [];
      for (let second = 0; second <= seconds; second += 600) {
        this.now += 600;
        this.reports.update(at(this.now));
        for (const state of [...this.states.list()]) {
          if (!isTaken) continue;
          sent.push(state.topic.split("/").slice(4).join("/"));
          this.states.done(state);
        }
      }
      return sent;
    }
  }

  test("are not sent again over a new connection, nor by a new process", () => {
    const board = new Board();
    expect(board.connection(3600, false)).toEqual(["birth", "config/reported"]);
    expect(board.connection(3600)).toEqual([]);
    board.process();
    expect(board.connection(3600)).toEqual([]);
    board.document = { desiredVersion: 2, appliedVersion: 1, state: "applying", hash: "a0", errors: [] };
    expect(board.connection(3600)).toEqual(["config/reported"]);
    // A broker that lost its sessions needs all documents again.
    expect(board.connection(3600, false)).toEqual(["birth", "config/reported"]);
  });

  test("include those that no broker has accepted yet, so the next connection or process sends them", () => {
    const board = new Board();
    expect(board.connection(600, false, false)).toEqual([]);
    board.process();
    expect(board.connection(600)).toEqual(["birth", "config/reported"]);
    board.document = { desiredVersion: 2, appliedVersion: 2, state: "in-sync", hash: "a0", errors: [] };
    expect(board.connection(600, true, false)).toEqual([]);
    expect(board.connection(600)).toEqual(["config/reported"]);
  });

  test("include a birth message once a day, even from a board whose link never lasts as long", () => {
    const board = new Board();
    const sent = Array.from({ length: 5 }, (_, n) => board.connection(12 * 3600, n > 0)).flat();
    expect(sent.filter((topic) => topic === "birth")).toHaveLength(3);
    expect(sent.filter((topic) => topic === "config/reported")).toHaveLength(1);
  });
});
