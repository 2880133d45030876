import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../../agent/api/meta.ts";
import type { Resource } from "../../../../agent/api/resources.ts";
import { shifted } from "../../../../agent/base/clock.ts";
import type { Author, Effect } from "../../../../agent/commands/desk/controls.ts";
import { confirmBoardDead } from "../../../../agent/commands/operations/board-acts.ts";
import type { OperationsDeps } from "../../../../agent/commands/operations/deps.ts";
import { AgentSiteControls } from "../../../../agent/commands/operations/site-controls.ts";
import { Executor } from "../../../../agent/execution/executor.ts";
import { noHolds } from "../../../../agent/holds/holds.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { TestTerm } from "../../../support/small-api.ts";
import { SiteModel } from "../../controllers/site-model.ts";

const alice: Author = { by: "ops:alice", reason: "it fell into the water" };
const outOfService = "out-of-service=siteward:NoExecute";

/** Three boards, of which pi-3 has been silent for two minutes. */
async function siteWithLostBoard(): Promise<SiteModel> {
  const site = new SiteModel({ policy: "evidence" });
  for (const name of ["pi-1", "pi-2", "pi-3"]) site.board(name);
  await site.run("2m");
  site.silence("pi-3");
  await site.run("2m");
  return site;
}

/** The leader. `asked`: called before each answer of the API server. */
function leader(site: SiteModel, asked: (name: string) => void): OperationsDeps {
  const ambient = {
    clock: { now: () => site.now, after: () => ({ cancel: () => {} }) },
    random: new SeededRandom(),
    log: new RecordingLog(),
  };
  // Only what a confirmation uses: the rest of a site would be a second one.
  return {
    ambient,
    caches: site.api,
    client: {
      get: (resource: Resource<KubeObject>, at: { name: string }) => {
        asked(`${resource.kind} ${at.name}`);
        return site.api.get(resource, at);
      },
    },
    current: { term: new TestTerm() },
    executor: new Executor(ambient, { client: site.api, events: { record: () => {} }, inflight: 4 }),
    verdictDeps: { settings: site.settings, judge: () => site.memory },
    announce: () => {},
  } as unknown as OperationsDeps;
}

const { signal } = new AbortController();

/** The leader's answer. */
const confirm = (site: SiteModel, asked: (name: string) => void = () => {}, dryRun = false): Promise<Effect> =>
  confirmBoardDead("pi-3", alice, { dryRun, signal }, leader(site, asked));

describe("the confirmation that a board is dead", () => {
  test("takes the silent board out of service", async () => {
    const site = await siteWithLostBoard();
    expect(await confirm(site)).toMatchObject({ outcome: "done", result: { board: "pi-3", changed: true } });
    expect(site.noExecute("pi-3")).toContain(outOfService);
    expect(await confirm(site)).toMatchObject({ outcome: "done", result: { changed: false } });
  });

  test("says which controllers an operator has to resume before the pods are deleted", async () => {
    const site = await siteWithLostBoard();
    const pause = { end: shifted(site.now, 60_000), by: "ops:alice", reason: undefined, foreign: {} };
    const mode = { mode: "act" };
    // What the controls of a site read besides.
    const deps = {
      ...leader(site, () => {}),
      config: { board: { node: "pi-1" }, controllers: { nodeLifecycle: mode, taintEviction: mode, podGC: mode } },
      elector: { view: () => ({ role: "leader", holder: "pi-1", term: 3 }) },
      holds: { ordered: { ...noHolds, pauses: new Map([["taint-eviction", pause]]) } },
    } as unknown as OperationsDeps;
    const effect = await new AgentSiteControls(deps).confirmBoardDead("pi-3", alice, false, signal);
    expect(effect).toMatchObject({ outcome: "done", result: { changed: true, paused: ["taint-eviction"] } });
  });

  test("is refused for a board with a taint that was set by hand, which it could not mark", async () => {
    const site = await siteWithLostBoard();
    site.setTaints("pi-3", { key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "nodeshutdown" });
    expect(await confirm(site)).toMatchObject({ outcome: "refused", code: 409, error: "tainted-by-hand" });
    expect(site.node("pi-3").metadata.annotations ?? {}).not.toHaveProperty("siteward.dev/out-of-service");
    const kept = (site.node("pi-3").spec?.taints ?? []).filter(({ key }) => key.endsWith("/out-of-service"));
    expect(kept).toMatchObject([{ value: "nodeshutdown", effect: "NoExecute" }]);
  });

  test("is refused for a board that sends heartbeats", async () => {
    const site = await siteWithLostBoard();
    site.revive("pi-3");
    expect(await confirm(site)).toMatchObject({ outcome: "refused", code: 409, error: "board-alive" });
  });

  describe.each([false, true])("while the caches lack what the API shows (dry run: %s)", (dryRun) => {
    test.each<[string, (site: SiteModel) => void]>([
      ["renewed its Lease", (site) => site.renew("pi-3")],
      ["reported its status", (site) => site.report("pi-3")],
      ["was set up again", (site) => site.board("pi-3", { uid: "another", lease: false })],
    ])("is refused if the board %s", async (_, live) => {
      const site = await siteWithLostBoard();
      site.link = "half-open";
      live(site);
      const refused = { outcome: "refused", code: 409, error: "board-alive", result: { boards: ["pi-3"] } };
      expect(await confirm(site, undefined, dryRun)).toMatchObject(refused);
      expect(site.noExecute("pi-3")).not.toContain(outOfService);
    });
  });

  test("is refused if the board gives a sign of life between the two reads, or before the write is repeated", async () => {
    const between = await siteWithLostBoard();
    const renews = (what: string): void => void (what === "Lease pi-3" && between.renew("pi-3"));
    expect(await confirm(between, renews)).toMatchObject({ error: "board-alive" });

    const repeated = await siteWithLostBoard();
    let reads = 0;
    const reports = (what: string): void => {
      if (what !== "Lease pi-3" || ++reads > 1) return;
      // The read Node is outdated by the time of the write, and then the board is back.
      repeated.report("pi-3");
    };
    expect(await confirm(repeated, reports)).toMatchObject({ error: "board-alive" });
    expect([reads, repeated.noExecute("pi-3").includes(outOfService)]).toEqual([2, false]);
  });
});
