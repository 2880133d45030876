import { describe, expect, test } from "vitest";
import {
  firstWrite,
  interruptedSince,
  isInterrupted,
  type LeaseRenewalHealth,
  recordAttempt,
  recordFailure,
  recordSuccess,
} from "../../../agent/election/lease-renewal-health.ts";

const blip = 10_000;
const at = (seconds: number) => ({ mono: 1000 * seconds, wall: 0 });
/** The last renewal succeeded ten seconds before those of the stories. */
const quick = firstWrite(at(90), at(90.1));

/** A renewal begun at this second, which the server refused. */
const refused = (health: LeaseRenewalHealth, second: number): LeaseRenewalHealth =>
  recordFailure(recordAttempt(health, at(second)));
const renewed = (health: LeaseRenewalHealth, began: number, now = began): LeaseRenewalHealth =>
  recordSuccess(recordAttempt(health, at(began)), at(began), blip, at(now));

describe("failed renewals", () => {
  test("one failed renewal is an interruption once it is older than link.blip", () => {
    const health = refused(quick, 100);
    expect([110, 110.001].map((second) => isInterrupted(health, blip, at(second)))).toEqual([false, true]);
  });

  test("two are an interruption once the last success is older than a blip", () => {
    const health = refused(refused(quick, 92), 94);
    expect([100, 100.001].map((second) => isInterrupted(health, blip, at(second)))).toEqual([false, true]);
    expect(interruptedSince(health)).toEqual(at(90));
  });

  test("a single one is an interruption after a blip even on a link where renewals normally take longer", () => {
    const slow = firstWrite(at(88), at(100));
    const health = refused(slow, 100);
    expect([110, 110.001].map((second) => isInterrupted(health, blip, at(second)))).toEqual([false, true]);
  });

  test("those that last longer than a blip end as an outage with the first success", () => {
    expect(renewed(refused(refused(quick, 100), 108), 112)).toMatchObject({ restoredAt: at(112), failures: 0 });
  });

  test("those in the 9 s before a success end as an outage if the previous success was 18 s ago", () => {
    const failing = [100, 102.5, 105, 107.5].reduce(refused, quick);
    expect(renewed(failing, 109).restoredAt).toEqual(at(109));
  });

  test("a single one within a blip is not an outage, because a request may be lost", () => {
    expect(renewed(refused(quick, 100), 110)).toMatchObject({ restoredAt: undefined, pendingSince: undefined });
  });

  test("two within a blip of the last success are not an outage", () => {
    expect(renewed(refused(refused(quick, 92), 94), 100).restoredAt).toBeUndefined();
  });

  test("single ones before and after a success are not an outage", () => {
    const between = renewed(refused(quick, 100), 102.5);
    expect(renewed(refused(between, 112.5), 115).restoredAt).toBeUndefined();
  });

  test("brief ones after an outage do not change its end", () => {
    const restored = renewed(refused(quick, 100), 120);
    expect(renewed(refused(restored, 130), 132).restoredAt).toEqual(at(120));
  });
});

describe("a renewal without an answer", () => {
  test("is an interruption once it has taken longer than a blip", () => {
    const health = recordAttempt(quick, at(100));
    expect([110, 110.001].map((second) => isInterrupted(health, blip, at(second)))).toEqual([false, true]);
  });

  test("ends as an outage if its answer arrives after all", () => {
    expect(renewed(quick, 100, 118).restoredAt).toEqual(at(118));
  });

  test("is not an interruption on a link where renewals normally take that long", () => {
    const slow = firstWrite(at(88), at(100));
    expect(renewed(slow, 100, 112)).toMatchObject({ restoredAt: undefined, lastTook: 12_000 });
    expect([124, 124.001].map((second) => isInterrupted(recordAttempt(slow, at(100)), blip, at(second)))).toEqual([
      false,
      true,
    ]);
  });
});
