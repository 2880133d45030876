import { describe, expect, test } from "vitest";
import type { Instant } from "../../../../agent/base/clock.ts";
import { settings as schema } from "../../../../agent/config/settings.ts";
import { defaultsOf, treeOf } from "../../../../agent/config/values.ts";
import { examine, lastSignOf, type NodeHealth } from "../../../../agent/controllers/node-lifecycle/health.ts";
import { lifecycleSettings } from "../../../../agent/controllers/node-lifecycle/settings.ts";
import { noHolds } from "../../../../agent/holds/holds.ts";
import type { Link } from "../../../../agent/judgement/link.ts";
import { node } from "../../../support/builders.ts";

const at = (mono: number): Instant => ({ mono, wall: mono });
const settings = { ...lifecycleSettings(treeOf(schema, defaultsOf(schema))), gracePeriod: 40_000 };
const live: Link = {
  live: true,
  notLiveSince: undefined,
  restoredAt: undefined,
  proof: { nodes: at(0), leases: at(0) },
};

/** The evidence about a board that was last heard at 0, seen again at `now`. */
function evidenceAt(
  now: number,
  {
    link = {},
    byStatus = false,
    hasLease = true,
    answered,
  }: {
    readonly link?: Partial<Link>;
    readonly byStatus?: boolean;
    readonly hasLease?: boolean;
    readonly answered?: number;
  } = {},
) {
  const lease = hasLease ? "1" : undefined;
  const seen = node("pi-3", { conditions: { Ready: "True" } });
  const ready = seen.status?.conditions?.find(({ type }) => type === "Ready");
  const health: NodeHealth = {
    uid: seen.metadata.uid,
    probe: at(0),
    transition: at(0),
    seenAt: at(0),
    reportedAt: at(0),
    statusAt: undefined,
    ready: { heartbeat: ready?.lastHeartbeatTime, transition: ready?.lastTransitionTime, isUnknown: false },
    lease,
    byStatus,
    recount: false,
    answered: answered === undefined ? undefined : { lease, at: at(answered) },
  };
  const context = { link: { ...live, ...link }, holds: noHolds, settings, now: at(now) };
  const { evidence, verdict } = examine(health, { node: seen, cached: "1", lease }, context);
  return { ...evidence, verdict: verdict.verdict };
}

describe("a silence", () => {
  test.each([
    [40_000, 40_000, "alive"],
    [40_000.0003, 40_001, "unproven"],
    [40_000.9, 40_001, "unproven"],
    [40_001, 40_001, "unproven"],
  ] as const)("of %d ms is rounded up to %d ms, and the board is %s", (now, silentMs, verdict) => {
    const proof = { nodes: at(now), leases: at(now) };
    expect(evidenceAt(now, { link: { proof } })).toMatchObject({ silentMs, provenMs: 0, verdict });
  });

  test("is unknown unless it is proven beyond the grace period, even if only by a fraction", () => {
    const proven = (leases: number) =>
      evidenceAt(60_000.5, { link: { proof: { nodes: undefined, leases: at(leases) } } });
    expect([proven(40_000).verdict, proven(40_000.2).verdict]).toEqual(["unknown", "unproven"]);
  });

  test("counts from the end of an outage", () => {
    expect(evidenceAt(50_000, { link: { restoredAt: at(30_000) } })).toMatchObject({
      silentMs: 20_000,
      verdict: "alive",
    });
  });
});

describe("the proof of a silence", () => {
  const proof = { nodes: at(50_000), leases: at(45_000) };

  test.each([
    ["that of the Leases, if the last heartbeat was one", {}, 15_000],
    ["that of the Nodes, if the board has no Lease", { hasLease: false }, 10_000],
    ["the earlier of the two, if the last heartbeat came from the status", { byStatus: true }, 15_000],
    [
      "that of the Nodes, if it is the earlier",
      { byStatus: true, link: { proof: { nodes: at(41_000), leases: at(45_000) } } },
      19_000,
    ],
    [
      "none, if one that is needed is missing",
      { byStatus: true, link: { proof: { nodes: undefined, leases: at(1) } } },
      undefined,
    ],
    ["an answer of the API, if it is later", { answered: 59_000 }, 1000],
    ["that of the watch, if the answer of the API is older", { answered: 1000 }, 15_000],
    [
      "an answer of the API, if there is none from a watch",
      { answered: 59_000, link: { proof: { nodes: undefined, leases: undefined } } },
      1000,
    ],
  ] as const)("is %s", (_whose, given, provenMs) => {
    expect(evidenceAt(60_000, { link: { proof }, ...given }).provenMs).toBe(provenMs);
  });
});

describe("a silence that the former leader knew goes on", () => {
  const seen = node("pi-3", { conditions: { Ready: "Unknown" } });
  const former = { sign: lastSignOf(seen, "7"), silentMs: 300_000, isLost: false };
  const earlier = new Map([["pi-3", former]]);
  const look = (before: NodeHealth | undefined, lease: string, now: number) =>
    examine(before, { node: seen, cached: "1", lease }, { link: live, holds: noHolds, settings, now: at(now), earlier })
      .health;

  test("if the board's last sign of life is the same", () => {
    expect(look(undefined, "7", 0).earlier).toEqual(former);
    expect(look(undefined, "8", 0).earlier).toBe(undefined);
  });

  test("also if this leader's cache shows that sign only after the first pass, but not after a later one", () => {
    const first = look(undefined, "6", 0);
    expect(first.earlier).toBe(undefined);
    const second = look(first, "7", 5000);
    expect(second.earlier).toEqual(former);
    expect(look(second, "7", 10_000).earlier).toEqual(former);
    expect(look(second, "8", 10_000).earlier).toBe(undefined);
  });

  test("unless an answer on the LAN has ended it", () => {
    const ended = { ...look(undefined, "7", 0), earlier: undefined };
    expect(look(ended, "7", 5000).earlier).toBe(undefined);
  });
});
