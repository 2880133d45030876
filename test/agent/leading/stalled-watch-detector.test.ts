import { expect, test } from "vitest";
import type { Instant, Millis } from "../../../agent/base/clock.ts";
import {
  neverConnected,
  recordClose,
  recordDelivery,
  recordNews,
  recordOpen,
  recordReceipt,
  type WatchHealth,
} from "../../../agent/informer/watch-health.ts";
import { StalledWatchDetector } from "../../../agent/leading/stalled-watch-detector.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const second: Millis = 1000;
const limits = { stall: 90 * second, blip: 10 * second };
const at = (seconds: number): Instant => ({ mono: seconds * second, wall: 0 });

function leader(timing = { sickFor: 60 * second, renewDeadline: 40 * second }) {
  const ambient = { clock: new FakeClock(), random: new SeededRandom(1), log: new RecordingLog() };
  /** When the connection was renewed, in seconds. */
  const renewed: number[] = [];
  let now = 0;
  const deafness = new StalledWatchDetector(ambient, {
    limits,
    leader: timing,
    renewConnection: () => renewed.push(now),
  });
  /** Looks every 5 s, from `from` to `to`; both watches are down since `down`, or that of Leases has no news since `stuck`. */
  const look = (from: number, to: number, { down, stuck }: { down?: number; stuck?: number } = {}): void => {
    for (now = from; now <= to; now += 5) {
      const nodes: WatchHealth =
        down === undefined
          ? { ...neverConnected, connected: true, lastReceived: at(now), lastNews: at(now) }
          : { ...neverConnected, lastNews: at(down), notLiveSince: at(down) };
      const leases = stuck === undefined ? nodes : { ...nodes, lastNews: at(stuck) };
      deafness.update({ nodes, leases }, at(now));
    }
  };
  /** Looks every 5 s, from `from` to `to`, at watches with these histories. */
  const follow = (from: number, to: number, nodes: History, leases: History): void => {
    for (now = from; now <= to; now += 5)
      deafness.update({ nodes: healthAt(now, nodes), leases: healthAt(now, leases) }, at(now));
  };
  return { deafness, look, follow, renewed };
}

/** What happened to a watch, and when, in seconds. */
type History = readonly (readonly [seconds: number, is: "opened" | "closed" | "listed" | "news" | "bookmark"])[];

function healthAt(now: number, history: History): WatchHealth {
  return history
    .filter(([seconds]) => seconds <= now)
    .reduce((health: WatchHealth, [seconds, is]) => {
      if (is === "opened") return recordOpen(health, limits, at(seconds));
      if (is === "closed") return recordClose(health, limits, at(seconds));
      if (is === "listed") return recordDelivery(health);
      const after = recordReceipt(health, limits, at(seconds));
      return is === "news" ? recordNews(after, at(seconds)) : after;
    }, neverConnected);
}

const repeat = (times: number, period: number, once: History): History =>
  Array.from({ length: times }, (_, i) => once.map(([seconds, is]) => [seconds + i * period, is] as const)).flat();

/** A watch that is opened once and delivers something new every 10 s. */
const busy: History = [[0, "opened"], ...repeat(360, 10, [[3, "news"]])];

test("a leader whose watches work is not deaf", () => {
  const { deafness, look, renewed } = leader();
  look(0, 3600);
  expect([deafness.sickness(at(3600)), renewed]).toEqual([undefined, []]);
});

test("a leader is deaf once its watches have failed for leader.sickFor", () => {
  const { deafness, look } = leader();
  look(0, 155, { down: 100 });
  expect(deafness.sickness(at(155))).toBeUndefined();
  look(160, 160, { down: 100 });
  expect(deafness.sickness(at(160))).toEqual({
    why: "its watches of boards have delivered nothing new",
    since: at(100),
  });
});

test("after a quarter of that time the connection is renewed, and again whenever that time has doubled", () => {
  const { look, renewed } = leader();
  look(0, 700, { down: 100 });
  expect(renewed).toEqual([115, 130, 160, 220, 340, 580]);
});

test("a watch that works again ends the deafness, and the next deafness starts from zero", () => {
  const { deafness, look, renewed } = leader();
  look(100, 140, { down: 100 });
  look(145, 145);
  look(150, 190, { down: 150 });
  expect(deafness.sickness(at(190))).toBeUndefined();
  expect(renewed).toEqual([115, 130, 165, 180]);
});

test("a recovery between two checks also counts if it brought news", () => {
  const { deafness, look, renewed } = leader();
  look(100, 150, { down: 100 });
  look(155, 165, { down: 152 });
  expect(deafness.sickness(at(165))).toBeUndefined();
  look(170, 185, { down: 152 });
  expect(renewed).toEqual([115, 130, 170]);
});

test("neither the time before a stall was noticed nor the time before the term counts", () => {
  const { deafness, look } = leader();
  look(500, 555, { down: 100 });
  expect(deafness.sickness(at(555))).toBeUndefined();
  deafness.end();
  look(600, 655, { down: 100 });
  expect(deafness.sickness(at(655))).toBeUndefined();
  look(660, 660, { down: 100 });
  expect(deafness.sickness(at(660))?.since).toEqual(at(600));
});

test("a leader that may still miss renewals is not deaf: its link may be down", () => {
  const { deafness, look } = leader({ sickFor: 10 * second, renewDeadline: 40 * second });
  look(0, 39, { down: 0 });
  expect(deafness.sickness(at(39))).toBeUndefined();
  look(40, 40, { down: 0 });
  expect(deafness.sickness(at(40))).toBeDefined();
});

test("a leader whose watch of Leases only repeats its bookmarks is deaf, because it renews a Lease itself", () => {
  const { deafness, look, renewed } = leader();
  look(0, 85, { stuck: 0 });
  expect(renewed).toEqual([]);
  look(90, 145, { stuck: 0 });
  expect([deafness.sickness(at(145)), renewed]).toEqual([undefined, [105, 120]]);
  look(150, 150, { stuck: 0 });
  expect(deafness.sickness(at(150))?.since).toEqual(at(90));
  look(155, 155, { stuck: 154 });
  expect(deafness.sickness(at(155))).toBeUndefined();
});

test("a leader whose first lists are under way is not deaf", () => {
  const { deafness } = leader();
  for (const seconds of [0, 300]) deafness.update({ nodes: neverConnected, leases: neverConnected }, at(seconds));
  expect(deafness.sickness(at(300))).toBeUndefined();
});

test("a leader whose watch of Leases delivers nothing is deaf, regardless of how often it is reopened", () => {
  const { deafness, follow } = leader();
  const stalls = repeat(30, 92, [
    [0, "opened"],
    [90, "closed"],
  ]);
  follow(0, 145, busy, stalls);
  expect(deafness.sickness(at(145))).toBeUndefined();
  follow(150, 3000, busy, stalls);
  expect(deafness.sickness(at(3000))?.since).toEqual(at(90));
});

test.each([
  ["an event or a bookmark that moved ends it", "news", false],
  ["a repeated bookmark does not", "bookmark", true],
] as const)("a leader is deaf while its watch of Leases has no news: %s", (_, is, isDeaf) => {
  const { deafness, follow } = leader();
  const stalls = repeat(3, 92, [
    [0, "opened"],
    [90, "closed"],
  ]);
  follow(0, 290, busy, [...stalls, [276, "opened"], [289, is]]);
  expect(deafness.sickness(at(290)) !== undefined).toBe(isDeaf);
});

test.each(["Leases", "Nodes"])("a leader is deaf if its watch of %s ends as soon as it is opened", (resource) => {
  const { deafness, follow } = leader();
  const flaps: History = [
    [0, "opened"],
    [95, "news"],
    [100, "closed"],
    ...repeat(20, 30, [
      [125, "opened"],
      [125.5, "closed"],
    ]),
  ];
  follow(0, 155, resource === "Nodes" ? flaps : busy, resource === "Leases" ? flaps : busy);
  expect(deafness.sickness(at(155))).toBeUndefined();
  follow(160, 600, resource === "Nodes" ? flaps : busy, resource === "Leases" ? flaps : busy);
  expect(deafness.sickness(at(600))?.since).toEqual(at(100));
});

test("a first list that broke once and delivers again, even slowly, does not make a leader deaf", () => {
  const { deafness, follow } = leader();
  const nodes: History = [[30, "closed"], ...repeat(20, 30, [[50, "listed"]])];
  const leases: History = [[2, "opened"], ...repeat(130, 5, [[5, "news"]])];
  follow(0, 600, nodes, leases);
  expect(deafness.sickness(at(600))).toBeUndefined();
});

test("a list of Nodes that is still under way does not prolong the deafness of a list of Leases that failed once", () => {
  const { deafness, follow } = leader();
  follow(0, 300, [], [[3, "closed"], [9, "opened"], ...repeat(40, 10, [[12, "news"]])]);
  expect(deafness.sickness(at(300))).toBeUndefined();
});

test("an ended watch of Nodes that is open again ends the deafness, even if no Node changes for hours", () => {
  const { deafness, follow, renewed } = leader();
  const calm: History = [
    [0, "opened"],
    [80, "bookmark"],
    [100, "closed"],
    [112, "opened"],
    ...repeat(60, 60, [[170, "bookmark"]]),
  ];
  follow(0, 3600, calm, busy);
  expect([deafness.sickness(at(3600)), renewed]).toEqual([undefined, []]);
});

test("a watch of Nodes without bookmarks, which is opened again after each stall, does not make a leader deaf", () => {
  const { deafness, follow, renewed } = leader();
  const calm = repeat(40, 92, [
    [0, "opened"],
    [90, "closed"],
  ]);
  follow(0, 3600, calm, busy);
  expect([deafness.sickness(at(3600)), renewed]).toEqual([undefined, []]);
});

test("a leader of a site whose kubelets are all silent is not deaf: a moved bookmark arrives in time after an interruption", () => {
  const { deafness, follow, renewed } = leader();
  const quiet: History = [
    [0, "opened"],
    ...repeat(10, 75, [[75, "news"]]),
    [800, "closed"],
    [810, "opened"],
    ...repeat(10, 75, [[885, "news"]]),
  ];
  follow(0, 1500, quiet, quiet);
  expect([deafness.sickness(at(1500)), renewed]).toEqual([undefined, []]);
});
