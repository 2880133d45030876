import { expect, test } from "vitest";
import type { Parts } from "../../../agent/status/parts.ts";
import { snapshot } from "../../../agent/status/snapshot.ts";
import { statusLine } from "../../../agent/status/status-line.ts";
import { api, healthy, leading, at as secondsIn } from "../../support/site-status.ts";

const { zones: _, eviction: __, memory, leader: ___, ...leaderless } = healthy();
const mib = 2 ** 20;
const standby: Parts = { ...leaderless, leader: { ...leading(), role: "standby", holder: "edge-05" } };

test.each<[string, Parts, string]>([
  [
    "a leader shows its site",
    healthy({
      zones: [
        { name: "a", state: "Normal", nodes: 8, ready: 8, rate: 0.1 },
        { name: "b", state: "PartialDisruption", nodes: 4, ready: 1, rate: 0.01 },
      ],
      eviction: { queue: 3, pending: 3, held: undefined },
    }),
    "leader plant7 t17 · nodes 9/12 · evict 3 q @0.1/s · rss 71M",
  ],
  [
    "boards are not counted as if they were judged while that is paused",
    healthy({
      zones: [{ name: "a", state: "Normal", nodes: 8, ready: 8, rate: 0 }],
      judgement: { at: secondsIn(60), period: 5000, isPaused: true, unwritten: 0, behindSince: undefined, qps: 20 },
      eviction: { queue: 0, pending: 0, held: undefined },
    }),
    "leader plant7 t17 · nodes 8/8 (not judged now) · evict 0 q @0/s · rss 71M",
  ],
  ["a standby names its leader", standby, "standby of edge-05 t17"],
  [
    "memory is shown with its limit",
    memory === undefined ? standby : { ...standby, memory: { ...memory, rssBytes: 71 * mib, hardBytes: 140 * mib } },
    "standby of edge-05 t17 · rss 71/140M",
  ],
  [
    "problems that need a person come before everything else",
    {
      ...standby,
      api: {
        ...api,
        state: "down",
        since: secondsIn(3590),
        error: { kind: "credentials", message: "the token is refused" },
      },
    },
    "standby of edge-05 t17 · CredentialsInvalid: the token is refused (for 10s); until they are accepted, this board evicts nothing, and pods keep running · api down",
  ],
  ["a site without a known leader", leaderless, "standby plant7"],
])("%s", (_, parts, expected) => {
  expect(statusLine(snapshot(parts, undefined))).toBe(expected);
});
