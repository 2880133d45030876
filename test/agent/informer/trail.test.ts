import { beforeEach, describe, expect, test } from "vitest";
import type { LeaseVersion } from "../../../agent/informer/server-history.ts";
import { leaseVersionIn, newestLeaseVersion, Trail } from "../../../agent/informer/trail.ts";
import { KnownHistory } from "./known-history.ts";

const leaseVersion = (version: number): LeaseVersion => ({ uid: "lease", version: String(version), renewal: version });
let history: KnownHistory;
let trail: Trail;

beforeEach(() => {
  history = new KnownHistory(leaseVersion(90));
  trail = new Trail(history, undefined);
  trail.listed("100");
});

const add = (...versions: readonly number[]): void => {
  for (const version of versions) trail.add(String(version), `pod-${version % 3}`, false);
};

describe("a watch that ended", () => {
  test("before any Lease version proved its list has no position to continue from", () => {
    trail.broke("100");
    expect(trail.resume("100")).toBeUndefined();
  });

  test("continues at its position when a later Lease version proves all of it", () => {
    add(110, 120);
    history.known = leaseVersion(130);
    expect(trail.proves("120")).toBe(true);
    trail.broke("120");
    expect(trail.resume("120")).toEqual({ from: "120", replay: undefined });
  });

  test("does not use a Lease version from after its end", () => {
    history.known = leaseVersion(105);
    add(110, 120);
    trail.broke("120");
    history.known = leaseVersion(130);
    expect(trail.resume("120")?.from).toBe("105");
  });

  test("continues from the Lease version, and compares repeated events", () => {
    history.known = leaseVersion(105);
    add(110, 120);
    trail.broke("120");
    const replay = trail.resume("120")?.replay;
    expect(replay?.add("110", "pod-2", false)).toBe("goes on");
    expect(replay?.reached("115")).toBe("goes on");
    expect(replay?.add("120", "pod-0", false)).toBe("done");
  });

  type Event = [version: string, uid: string, isDeletion: boolean];
  const [first, last]: [Event, Event] = [
    ["110", "pod-2", false],
    ["120", "pod-0", false],
  ];
  const others: readonly [what: string, events: readonly Event[]][] = [
    ["misses an event", [last]],
    ["has one more", [first, ["111", "pod-0", false], last]],
    ["has an event of another object", [["110", "pod-1", false], last]],
    ["has a deletion instead of a change", [first, ["120", "pod-0", true]]],
    ["goes beyond the end", [first, ["121", "pod-0", false]]],
  ];
  test.each(others)("is of another history if the replay %s", (_, events) => {
    history.known = leaseVersion(105);
    add(110, 120);
    trail.broke("120");
    const replay = trail.resume("120")?.replay;
    expect(events.map((event) => replay?.add(...event)).at(-1)).toBe("differs");
  });

  test("is of another history if a bookmark passes an expected event", () => {
    history.known = leaseVersion(105);
    add(110, 120);
    trail.broke("120");
    expect(trail.resume("120")?.replay?.reached("120")).toBe("differs");
  });

  test("uses the Lease version known before its end, even without an event since its list", () => {
    history.known = leaseVersion(105);
    history.lose();
    trail.broke("100");
    expect(trail.resume("100")).toEqual({ from: "100", replay: undefined });
  });

  test("is as new as its last bookmark if no other event comes for hours", () => {
    history.known = leaseVersion(9000);
    trail.bookmarked("8990");
    trail.broke("8990");
    expect(trail.resume("8990")).toEqual({ from: "8990", replay: undefined });
  });

  test("does not expect an event again if only bookmarks moved it", () => {
    history.known = leaseVersion(105);
    expect(trail.proves("100")).toBe(true);
    trail.broke("140");
    expect(trail.resume("140")).toEqual({ from: "105", replay: undefined });
  });

  test("does not expect events that were not stored", () => {
    history.known = leaseVersion(105);
    add(110, 120);
    trail.broke("110");
    expect(trail.resume("110")?.replay?.add("110", "pod-2", false)).toBe("done");
  });

  test("on another chain has no position to continue from", () => {
    history.known = leaseVersion(105);
    add(110);
    trail.broke("110");
    history.chain = "d";
    expect(trail.resume("110")).toBeUndefined();
  });

  test("with more events than are kept continues once a Lease version covers the dropped ones", () => {
    history.known = leaseVersion(105);
    add(...Array.from({ length: 5000 }, (_, at) => 106 + at));
    trail.broke("5105");
    expect(trail.resume("5105")).toBeUndefined();
    trail.resumed();
    history.known = leaseVersion(2000);
    add(5106);
    trail.broke("5106");
    expect(trail.resume("5106")?.from).toBe("2000");
  });
});

/** A connection is lost after a Lease version and two later events. */
const loseAnother = (): void => {
  history.known = leaseVersion(105);
  add(110, 120);
  history.lose();
};

describe("a watch on a connection that is dead without a sign, while requests use another one,", () => {
  beforeEach(loseAnother);

  test("has no proof in a Lease version from the new connection", () => {
    history.known = leaseVersion(130);
    expect(trail.proves("120")).toBe(false);
    trail.broke("120");
    history.lose();
    expect(trail.resume("120")).toMatchObject({ from: "105", replay: expect.anything() });
  });

  test("still has its proof in the Lease versions from before the loss", () => {
    trail.broke("105");
    history.known = leaseVersion(130);
    expect(trail.resume("105")).toEqual({ from: "105", replay: undefined });
  });

  test("has proof once it was opened again", () => {
    trail.broke("120");
    history.known = leaseVersion(130);
    trail.resume("120");
    trail.resumed();
    history.known = leaseVersion(140);
    expect(trail.proves("120")).toBe(true);
  });
});

describe("a watch on a connection that goes on after another one was lost", () => {
  beforeEach(loseAnother);

  test("has its proof once it has delivered something newer than the Lease version", () => {
    history.known = leaseVersion(130);
    add(125);
    expect(trail.proves("120")).toBe(false);
    trail.bookmarked("131");
    expect(trail.proves("125")).toBe(true);
    history.known = leaseVersion(140);
    expect(trail.proves("131")).toBe(true);
  });

  test("has none as long as the new connection has not shown that the server has the same history", () => {
    trail.bookmarked("131");
    expect(trail.proves("120")).toBe(false);
  });
});

describe("the trail stored with a position", () => {
  test("is continued by the next process", () => {
    history.known = leaseVersion(105);
    add(110, 120);
    const next = new Trail(history, trail.text());
    const replay = next.resume("120")?.replay;
    replay?.add("110", "pod-2", false);
    expect(replay?.add("120", "pod-0", false)).toBe("done");
  });

  test("remains sufficient for the process after that", () => {
    history.known = leaseVersion(105);
    add(110, 120);
    trail = new Trail(history, trail.text());
    trail.resumed();
    history.known = leaseVersion(115);
    add(130);
    history.known = leaseVersion(125);
    trail.broke("130");
    trail.resumed();
    expect(new Trail(history, trail.text()).resume("130")?.from).toBe("125");
  });

  test.each(["", "{}", "null", "[]", "{", '{"chain":1,"uid":2}'])("is ignored if it reads %j", (text) => {
    expect(leaseVersionIn(text, "a/b")).toBeUndefined();
    expect(new Trail(history, text).resume("100")).toBeUndefined();
  });

  test("is ignored if it names the Lease of another site, to which this board belonged before", () => {
    const text = trail.text();
    expect(newestLeaseVersion([text], "a/c")).toBeUndefined();
    expect(new Trail(new KnownHistory(leaseVersion(90), "a/c"), text).resume("90")).toBeUndefined();
  });

  test("gives the newest Lease version, among those of all resources", () => {
    const texts = [90, 1000, 200].map((version) => {
      history.known = leaseVersion(version);
      return trail.text();
    });
    expect(newestLeaseVersion(texts, "a/b")?.leaseVersion).toEqual(leaseVersion(1000));
    expect(newestLeaseVersion([], "a/b")).toBeUndefined();
  });
});
