import { describe, expect, test } from "vitest";
import { shifted } from "../../../agent/base/clock.ts";
import { freezeKey } from "../../../agent/holds/holds.ts";
import { toleration } from "../../support/builders.ts";
import { millis, type Span } from "../../support/fake-clock.ts";
import { SiteModel } from "./site-model.ts";

const aMinute = [toleration("unreachable", 60), toleration("not-ready", 60)];

/** Three boards, a pod on each that tolerates a lost board for a minute; the leader runs on pi-1. */
async function calmSite(): Promise<SiteModel> {
  const site = new SiteModel({ policy: "evidence", ownNode: "pi-1" });
  for (const name of ["pi-1", "pi-2", "pi-3"]) {
    site.board(name);
    site.pod(`web-${name}`, { on: name, tolerations: aMinute });
  }
  await site.run("2m");
  return site;
}

const freezeSite = (site: SiteModel, length: Span) =>
  site.hold((holds) => {
    const end = shifted(site.now, millis(length));
    const entry = { scope: "site", end, slowEnd: end, by: "ops:jo", reason: "radio", foreign: {} } as const;
    return { ...holds, freezes: new Map([[freezeKey(entry), entry]]) };
  });

/** "done board-tainted node/pi-3", with the reason of a hold. */
const told = (site: SiteModel): readonly string[] =>
  site.recorded.lines.map(({ message, fields }) =>
    [message.replace(/^harmful act (no longer due)?/, "$1"), fields.act, fields.object, fields.why]
      .filter(Boolean)
      .join(" "),
  );

describe("the decision records", () => {
  test("contain nothing after a day on a calm site", async () => {
    const site = await calmSite();
    await site.run("24h");
    expect(told(site)).toEqual([]);
  });

  test("of a board that dies are the mark, the taint and the eviction, with the facts known at each", async () => {
    const site = await calmSite();
    site.silence("pi-3");
    await site.run("5m");
    expect(told(site)).toEqual([
      "board marked as silent board-marked node/pi-3",
      "done board-tainted node/pi-3",
      "done pod-evicted pod/default/web-pi-3",
    ]);
    expect(site.events.map(({ reason, message }) => `${reason} ${message}`)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^NodeNotReady Node pi-3 status is now: NodeNotReady: silent past its grace period/),
        "TaintManagerEviction Marking for deletion Pod default/web-pi-3: pi-3 has the taint " +
          "node.kubernetes.io/unreachable, which the pod tolerates for 1m; pi-3 was silent for at least 1m40s (grace period 40s)",
      ]),
    );
    const [, taint, eviction] = site.recorded.lines.map(({ fields }) => fields);
    expect(taint).toMatchObject({
      board: "pi-3",
      by: "node-lifecycle",
      kind: "silence",
      verdict: "unproven",
      graceMs: 40_000,
      zone: { name: "default", state: "normal" },
    });
    expect(taint?.silentMs).toBeGreaterThan(40_000);
    expect(eviction).toMatchObject({
      board: "pi-3",
      by: "taint-eviction",
      kind: "taints",
      taints: ["node.kubernetes.io/unreachable"],
      toleratedMs: 60_000,
      silence: { verdict: "unproven" },
    });
  });

  test("of a board that its kubelet reports not ready show that the taint rests on that report", async () => {
    const site = await calmSite();
    site.report("pi-3", { Ready: "False" });
    await site.run("10s");
    expect(site.recorded.lines[0]).toMatchObject({ fields: { act: "board-tainted", kind: "reported" } });
  });

  test("of a frozen site show one hold for the board and none for the pod, regardless of how long it lasts, and then the acts", async () => {
    const site = await calmSite();
    freezeSite(site, "30m");
    site.silence("pi-3");
    await site.run("29m");
    expect(told(site)).toEqual([
      "board marked as silent board-marked node/pi-3",
      "held board-tainted node/pi-3 freeze",
    ]);
    await site.run("10m");
    expect(told(site).slice(2)).toEqual(["done board-tainted node/pi-3", "done pod-evicted pod/default/web-pi-3"]);
  });

  test("of several boards that wait for their turn after a freeze tell one story each: the hold and its taint", async () => {
    const site = new SiteModel({ policy: "evidence", ownNode: "pi-1" });
    for (let n = 1; n <= 9; n++) site.board(`pi-${n}`);
    await site.run("2m");
    freezeSite(site, "10m");
    for (const name of ["pi-7", "pi-8", "pi-9"]) site.silence(name);
    await site.run("30m");
    const taints = told(site).filter((line) => line.includes("board-tainted"));
    expect(taints.slice().sort()).toEqual([
      "done board-tainted node/pi-7",
      "done board-tainted node/pi-8",
      "done board-tainted node/pi-9",
      "held board-tainted node/pi-7 freeze",
      "held board-tainted node/pi-8 freeze",
      "held board-tainted node/pi-9 freeze",
    ]);
  });

  test("contain no hold if the leader is deaf while an evicted pod lingers on its dead board", async () => {
    const site = await calmSite();
    site.silence("pi-3");
    site.pod("slow", { on: "pi-3", tolerations: aMinute, deletionTimestamp: "2026-01-01T00:00:00Z" });
    await site.run("10m");
    const before = told(site).length;
    site.cut();
    await site.run("10m");
    site.restore();
    await site.run("10m");
    expect(told(site).slice(before)).toEqual([]);
  });

  test("of a site frozen after the taint show the pod as held; if the board returns, the pod is kept and the hold lapses", async () => {
    const site = await calmSite();
    site.silence("pi-3");
    await site.run("55s");
    freezeSite(site, "30m");
    await site.run("5m");
    site.revive("pi-3");
    site.report("pi-3");
    await site.run("1m");
    expect(told(site)).toEqual([
      "board marked as silent board-marked node/pi-3",
      "done board-tainted node/pi-3",
      "held pod-evicted pod/default/web-pi-3 freeze",
      "no longer due pod-evicted pod/default/web-pi-3",
    ]);
    expect(site.exists("web-pi-3")).toBe(true);
  });

  test("of a site frozen after the taint, soon after a restore of the server, show the hold and the eviction as one story", async () => {
    const site = await calmSite();
    site.wasRestored = true;
    site.silence("pi-3");
    await site.run("55s");
    freezeSite(site, "10m");
    await site.run("30m");
    expect(told(site)).toEqual([
      "board marked as silent board-marked node/pi-3",
      "done board-tainted node/pi-3",
      "held pod-evicted pod/default/web-pi-3 freeze",
      "done pod-evicted pod/default/web-pi-3",
    ]);
  });

  test("show that the verdict holds the taint when the leader's own board falls silent", async () => {
    const site = await calmSite();
    site.silence("pi-1");
    await site.run("10m");
    expect(told(site)).toEqual([
      "board marked as silent board-marked node/pi-1",
      "held board-tainted node/pi-1 verdict",
    ]);
  });

  test("of a site whose leader is deaf show in one story how the link holds an act that was due, and then the quarantine", async () => {
    const site = await calmSite();
    site.silence("pi-3");
    await site.run("55s");
    site.cut();
    await site.run("10m");
    expect(site.exists("web-pi-3")).toBe(true);
    site.restore();
    await site.run("10m");
    expect(told(site).filter((line) => line.includes("pod-evicted"))).toEqual([
      "held pod-evicted pod/default/web-pi-3 not-live",
      "done pod-evicted pod/default/web-pi-3",
    ]);
  });
});
