import { describe, expect, test } from "vitest";
import { leases } from "../../../agent/api/resources.ts";
import { budgetAnnotation } from "../../../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import { LeaseLock } from "../../../agent/election/lease-lock.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { LeaseLink, LeaseServer } from "../../support/lease-server.ts";

function setUp() {
  const clock = new FakeClock();
  const server = new LeaseServer(clock);
  const client = new LeaseLink({ server, clock, by: "pi-1", latency: { request: 0, answer: 0 } });
  const sent = () => server.requests.filter(({ verb }) => verb !== "get").map(({ body }) => body);
  const labels = { "app.kubernetes.io/name": "siteward" };
  const annotations = { "siteward.dev/node-selector": "site=plant7" };
  const at = { namespace: "kube-system", name: "siteward-plant7" };
  const lock = new LeaseLock({ client, at, labels, annotations });
  const { signal } = new AbortController();
  return { clock, server, sent, lock, labels, annotations, signal, write: { signal } };
}

const claim = { holder: "pi-1_a", durationSeconds: 60, term: 3 };

describe("the Lease", () => {
  test("that does not exist is created in full, with times in microseconds and our labels", async () => {
    const { clock, sent, lock, labels, annotations, signal, write } = setUp();
    expect(await lock.read(signal)).toBeUndefined();
    const record = await lock.create(claim, clock.now(), write);
    expect(sent()[0]).toEqual({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace: "kube-system", name: "siteward-plant7", labels, annotations },
      spec: {
        holderIdentity: "pi-1_a",
        leaseDurationSeconds: 60,
        acquireTime: "2026-01-01T00:00:00.000000Z",
        renewTime: "2026-01-01T00:00:00.000000Z",
        leaseTransitions: 3,
      },
    });
    expect(record).toMatchObject({ holder: "pi-1_a", durationSeconds: 60, term: 3 });
    expect(await lock.read(signal)).toEqual(record);
  });

  test("is renewed by a small patch that fails if another writer was faster", async () => {
    const { clock, sent, lock, write } = setUp();
    const won = await lock.create(claim, clock.now(), write);
    await clock.advance("10s");
    const renewed = await lock.renew(won, { durationSeconds: 60, carried: {} }, clock.now(), write);
    expect(sent()[1]).toEqual({
      metadata: { uid: won.uid, resourceVersion: won.resourceVersion },
      spec: { leaseDurationSeconds: 60, renewTime: "2026-01-01T00:00:10.000000Z" },
    });
    expect(renewed).toMatchObject({ holder: "pi-1_a", term: 3 });
    expect(renewed.resourceVersion).not.toBe(won.resourceVersion);
    const stale = lock.renew(won, { durationSeconds: 60, carried: {} }, clock.now(), write);
    await expect(stale).rejects.toMatchObject({ reason: "Conflict", disposition: "refresh" });
  });

  test("loses its managedFields once, and does not get them again", async () => {
    const { clock, server, sent, lock, signal, write } = setUp();
    await lock.create(claim, clock.now(), write);
    server.write({ metadata: { managedFields: [{ manager: "siteward", operation: "Update" }] } });
    let record = await lock.read(signal);
    if (!record) throw new Error("there is no Lease");
    for (let i = 0; i < 2; i++) {
      record = await lock.renew(record, { durationSeconds: 60, carried: {} }, clock.now(), write);
      // As an API server does.
      server.write({ metadata: { managedFields: null } });
      record = (await lock.read(signal)) ?? record;
    }
    const written = sent()
      .slice(1)
      .map((body) => (body as { metadata: object }).metadata);
    expect(written.map((metadata) => "managedFields" in metadata)).toEqual([true, false]);
    expect(written[0]).toMatchObject({ managedFields: [{}] });
  });

  test("carries the budget, which is sent again only when it changed", async () => {
    const { clock, sent, lock, write } = setUp();
    let record = await lock.create(claim, clock.now(), write);
    for (const budget of ["a", "a", "b", undefined, "b"]) {
      const carried: Record<string, string> = budget === undefined ? {} : { [budgetAnnotation]: budget };
      record = await lock.renew(record, { durationSeconds: 60, carried }, clock.now(), write);
    }
    const written = sent()
      .slice(1)
      .map((body) => (body as { metadata: { annotations?: object } }).metadata);
    expect(written.map(({ annotations }) => annotations)).toEqual([
      { "siteward.dev/budget": "a" },
      undefined,
      { "siteward.dev/budget": "b" },
      undefined,
      undefined,
    ]);
  });

  test("drops a budget that is no longer kept up to date, with one write", async () => {
    const { clock, sent, lock, annotations, signal, write } = setUp();
    let record = await lock.create(claim, clock.now(), write);
    for (const budget of ["a", null, null]) {
      const renewal = { durationSeconds: 60, carried: { [budgetAnnotation]: budget } };
      record = await lock.renew(record, renewal, clock.now(), write);
    }
    expect(record.annotations).toEqual(annotations);
    expect((await lock.read(signal))?.annotations).toEqual(annotations);
    const written = sent()
      .slice(2)
      .map((body) => (body as { metadata: { annotations?: object } }).metadata.annotations);
    expect(written).toEqual([{ "siteward.dev/budget": null }, undefined]);
  });

  test("gets the labels when it is taken, and keeps the annotations for the next leader", async () => {
    const { clock, sent, lock, labels, annotations, signal, write } = setUp();
    let record = await lock.create({ ...claim, holder: "pi-2_b", term: 2 }, clock.now(), write);
    record = await lock.renew(
      record,
      { durationSeconds: 60, carried: { [budgetAnnotation]: "{}" } },
      clock.now(),
      write,
    );
    const taken = await lock.take(record, claim, clock.now(), write);
    expect(taken).toMatchObject({ holder: "pi-1_a", term: 3 });
    expect(taken.annotations).toEqual({ ...annotations, "siteward.dev/budget": "{}" });
    expect(sent().at(-1)).toMatchObject({
      metadata: { labels, annotations },
      spec: { leaseTransitions: 3 },
    });
    expect((await lock.read(signal))?.holder).toBe("pi-1_a");
  });

  test("gets our annotation back with the next renewal after another writer changed it, and only then", async () => {
    const { clock, sent, lock, annotations, write } = setUp();
    const won = await lock.create(claim, clock.now(), write);
    const changed = { ...won, annotations: { "siteward.dev/node-selector": "site=plant8", other: "stays" } };
    const renewal = { durationSeconds: 60, carried: {} };
    const renewed = await lock.renew(changed, renewal, clock.now(), write);
    expect(sent().at(-1)).toMatchObject({ metadata: { annotations } });
    expect(renewed.annotations).toEqual({ ...annotations, other: "stays" });
    await lock.renew(renewed, renewal, clock.now(), write);
    expect(sent().at(-1)).not.toHaveProperty("metadata.annotations");
  });

  test("is released with no holder, a duration of one second and the same count", async () => {
    const { clock, sent, lock, write } = setUp();
    const record = await lock.create(claim, clock.now(), write);
    await lock.release(record, undefined, clock.now(), write);
    const released = sent()[1];
    expect(released).toMatchObject({ spec: { holderIdentity: "", leaseDurationSeconds: 1 } });
    expect(released).not.toHaveProperty("spec.leaseTransitions");
    expect(lock.about(record)).toMatchObject({ resource: leases, name: "siteward-plant7", uid: record.uid });
  });

  test("is not written once the guard throws", async () => {
    const { clock, sent, lock, signal } = setUp();
    const guard = () => {
      throw new Error("the term is over");
    };
    await expect(lock.create(claim, clock.now(), { signal, guard })).rejects.toThrow("the term is over");
    expect(sent()).toEqual([]);
  });
});
