import { expect, test } from "vitest";
import type { Standing } from "../../../agent/commands/controls.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import { Reports } from "../../../agent/fleet/reports.ts";
import { States } from "../../../agent/fleet/states.ts";
import type { Status } from "../../../agent/status/schema.ts";
import { snapshot } from "../../../agent/status/snapshot.ts";
import { Database } from "../../../storage/database.ts";
import { Memo } from "../../../storage/memo.ts";
import { stateMigrations } from "../../../storage/schema.ts";
import { at, healthy, leading } from "../../support/site-status.ts";

const pragmas = {
  synchronous: "FULL",
  cacheKiB: 256,
  mmapMiB: 0,
  walAutocheckpointPages: 1000,
  journalSizeLimitKiB: 1024,
} as const;

test("the site's status waits for one of the term that the board leads in: an older one tells of nobody's site", () => {
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
  reports.look(at(3600));
  expect(said()).toBeUndefined();
  status = snapshot(healthy({ leader: { ...leading(), term: 17 } }), undefined);
  reports.look(at(3601));
  expect(said()).toBeUndefined();
  status = snapshot(healthy({ leader: { ...leading(), term: 18 } }), undefined);
  reports.look(at(3602));
  expect(said()).toMatchObject({ holder: "edge-02", term: 18, zones: [{ name: "plant7-a" }] });
  // What still waits for the broker when the board does not lead any more is another's to tell.
  standing = { isLeader: false, leader: "edge-01", term: 19 };
  reports.look(at(3603));
  expect(said()).toBeUndefined();
});

test("who leads since when is told by the term, not by the connection", () => {
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
    reports.look(at(3600 * session));
    expect(since()).toBe(new Date(at(600).wall).toISOString());
  }
});
