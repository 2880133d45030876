import { expect, test } from "vitest";
import { loadConfig } from "../../../agent/config/load.ts";
import { noHolds } from "../../../agent/holds/holds.ts";
import { siteParts } from "../../../agent/leading/site-parts.ts";
import type { NamedBoards } from "../../../agent/status/parts.ts";
import { SiteModel } from "../controllers/site-model.ts";

const { config } = loadConfig({ file: undefined, env: {}, hostname: "pi-1", profile: undefined });

/** What the leader of a site reports of its boards. */
function reported(site: SiteModel) {
  const parts = siteParts(
    {
      config,
      current: { site: site.memory, timers: () => undefined },
      executor: { acts: () => [] },
      decisions: { heldCounts: () => [] },
      holds: noHolds,
      quiet: undefined,
      watches: [],
      controllers: [],
    },
    site.now,
  );
  const { lost, off, notReady } = parts.boards ?? {};
  const names = (boards: NamedBoards | undefined) => boards?.some.map(({ name }) => name);
  const [zone] = parts.zones ?? [];
  return { ready: `${zone?.ready}/${zone?.nodes}`, lost: names(lost), off: names(off), notReady: names(notReady) };
}

function siteOfThree(): SiteModel {
  const site = new SiteModel();
  for (const name of ["pi-1", "pi-2", "pi-3"]) site.board(name);
  return site;
}

/** The agent may not `patch nodes/status`. */
const readOnly = (site: SiteModel): void => {
  site.api.refuse = (action) => (action.do === "patch" && action.subresource === "status" ? "drop" : undefined);
};

test("a lost board is lost by its verdict, also if the agent may not mark it", async () => {
  const site = siteOfThree();
  readOnly(site);
  await site.run("1m");
  expect(reported(site)).toEqual({ ready: "3/3", lost: [], off: [], notReady: [] });
  site.silence("pi-2");
  await site.run("1m");
  expect(site.conditions("pi-2").Ready).toBe("True");
  expect(reported(site)).toEqual({ ready: "2/3", lost: ["pi-2"], off: [], notReady: [] });
  site.revive("pi-2");
  await site.run("10s");
  expect(reported(site)).toEqual({ ready: "3/3", lost: [], off: [], notReady: [] });
});

test("a board that reported itself not ready and fell silent then is lost, not a board that sends heartbeats", async () => {
  const site = siteOfThree();
  readOnly(site);
  await site.run("1m");
  site.report("pi-3", { Ready: "False" });
  await site.run("10s");
  expect(reported(site)).toMatchObject({ lost: [], notReady: ["pi-3"] });
  site.silence("pi-3");
  await site.run("90s");
  expect(reported(site)).toMatchObject({ lost: ["pi-3"], notReady: [] });
});
