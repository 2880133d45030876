import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { leases, type Resource } from "../../../agent/api/resources.ts";
import { budgetAnnotation, LeaseLock } from "../../../agent/election/lease-lock.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { refusal, SmallApi } from "./support/api.ts";

class LeaseApi extends SmallApi {
  async get<T extends KubeObject>(_resource: Resource<T>, { name }: { name: string }): Promise<T> {
    const found = this.objects.get(name);
    if (!found) throw refusal("get", 404, "NotFound");
    return found as T;
  }
}

function setUp() {
  const clock = new FakeClock();
  const api = new LeaseApi(clock);
  const labels = { "app.kubernetes.io/name": "siteward" };
  const annotations = { "siteward.dev/node-selector": "site=plant7" };
  const at = { namespace: "kube-system", name: "siteward-plant7" };
  const lock = new LeaseLock({ client: api, at, labels, annotations });
  const { signal } = new AbortController();
  return { clock, api, lock, labels, annotations, signal, write: { signal } };
}

const claim = { holder: "pi-1_a", durationSeconds: 60, term: 3 };

describe("the Lease", () => {
  test("that does not exist is created whole, with times of microseconds and our labels", async () => {
    const { clock, api, lock, labels, annotations, signal, write } = setUp();
    expect(await lock.read(signal)).toBeUndefined();
    const record = await lock.create(claim, clock.now(), write);
    expect(api.requests[0]?.body).toEqual({
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
    expect(record).toMatchObject({ holder: "pi-1_a", durationSeconds: 60, transitions: 3 });
    expect(await lock.read(signal)).toEqual(record);
  });

  test("is renewed by a small patch that holds only while nobody else wrote", async () => {
    const { clock, api, lock, write } = setUp();
    const won = await lock.create(claim, clock.now(), write);
    await clock.advance("10s");
    const renewed = await lock.renew(won, { durationSeconds: 60, carried: {} }, clock.now(), write);
    expect(api.requests[1]?.body).toEqual({
      metadata: { uid: won.uid, resourceVersion: won.resourceVersion },
      spec: { leaseDurationSeconds: 60, renewTime: "2026-01-01T00:00:10.000000Z" },
    });
    expect(renewed).toMatchObject({ holder: "pi-1_a", transitions: 3 });
    expect(renewed.resourceVersion).not.toBe(won.resourceVersion);
    const stale = lock.renew(won, { durationSeconds: 60, carried: {} }, clock.now(), write);
    await expect(stale).rejects.toMatchObject({ reason: "Conflict", disposition: "refresh" });
  });

  test("is freed of the server's notes on its fields once, and stays so", async () => {
    const { clock, api, lock, signal, write } = setUp();
    await lock.create(claim, clock.now(), write);
    const noted = api.objects.get("siteward-plant7");
    if (!noted) throw new Error("there is no Lease");
    api.objects.set("siteward-plant7", {
      ...noted,
      metadata: { ...noted.metadata, managedFields: [{ manager: "siteward", operation: "Update" }] },
    });
    let record = await lock.read(signal);
    if (!record) throw new Error("there is no Lease");
    for (let i = 0; i < 2; i++) {
      record = await lock.renew(record, { durationSeconds: 60, carried: {} }, clock.now(), write);
      // As an API server does.
      const { managedFields: _, ...metadata } = api.objects.get("siteward-plant7")?.metadata ?? noted.metadata;
      api.objects.set("siteward-plant7", { ...noted, metadata });
      record = (await lock.read(signal)) ?? record;
    }
    const sent = api.requests.slice(1).map(({ body }) => (body as { metadata: object }).metadata);
    expect(sent.map((metadata) => "managedFields" in metadata)).toEqual([true, false]);
    expect(sent[0]).toMatchObject({ managedFields: [{}] });
  });

  test("carries the budget, which is sent again only when it changed", async () => {
    const { clock, api, lock, write } = setUp();
    let record = await lock.create(claim, clock.now(), write);
    for (const budget of ["a", "a", "b", undefined, "b"]) {
      const carried: Record<string, string> = budget === undefined ? {} : { [budgetAnnotation]: budget };
      record = await lock.renew(record, { durationSeconds: 60, carried }, clock.now(), write);
    }
    const sent = api.requests.slice(1).map(({ body }) => (body as { metadata: { annotations?: object } }).metadata);
    expect(sent.map(({ annotations }) => annotations)).toEqual([
      { "siteward.dev/budget": "a" },
      undefined,
      { "siteward.dev/budget": "b" },
      undefined,
      undefined,
    ]);
  });

  test("is taken with the labels, and keeps the annotations for the next leader to read", async () => {
    const { clock, api, lock, labels, annotations, signal, write } = setUp();
    let record = await lock.create({ ...claim, holder: "pi-2_b", term: 2 }, clock.now(), write);
    record = await lock.renew(
      record,
      { durationSeconds: 60, carried: { [budgetAnnotation]: "{}" } },
      clock.now(),
      write,
    );
    const taken = await lock.take(record, claim, clock.now(), write);
    expect(taken).toMatchObject({ holder: "pi-1_a", transitions: 3 });
    expect(taken.annotations).toEqual({ ...annotations, "siteward.dev/budget": "{}" });
    expect(api.requests.at(-1)?.body).toMatchObject({
      metadata: { labels, annotations },
      spec: { leaseTransitions: 3 },
    });
    expect((await lock.read(signal))?.holder).toBe("pi-1_a");
  });

  test("gets our annotation back with the next renewal where somebody changed it, and then keeps quiet", async () => {
    const { clock, api, lock, annotations, write } = setUp();
    const won = await lock.create(claim, clock.now(), write);
    const changed = { ...won, annotations: { "siteward.dev/node-selector": "site=plant8", other: "stays" } };
    const renewal = { durationSeconds: 60, carried: {} };
    const renewed = await lock.renew(changed, renewal, clock.now(), write);
    expect(api.requests.at(-1)?.body).toMatchObject({ metadata: { annotations } });
    expect(renewed.annotations).toEqual({ ...annotations, other: "stays" });
    await lock.renew(renewed, renewal, clock.now(), write);
    expect(api.requests.at(-1)?.body).not.toHaveProperty("metadata.annotations");
  });

  test("that is released has no holder, a duration of one second and the same count", async () => {
    const { clock, api, lock, write } = setUp();
    const record = await lock.create(claim, clock.now(), write);
    await lock.release(record, undefined, clock.now(), write);
    const released = api.requests[1]?.body;
    expect(released).toMatchObject({ spec: { holderIdentity: "", leaseDurationSeconds: 1 } });
    expect(released).not.toHaveProperty("spec.leaseTransitions");
    expect(lock.about(record)).toMatchObject({ resource: leases, name: "siteward-plant7", uid: record.uid });
  });

  test("is not written once the guard says no", async () => {
    const { clock, api, lock, signal } = setUp();
    const guard = () => {
      throw new Error("the term is over");
    };
    await expect(lock.create(claim, clock.now(), { signal, guard })).rejects.toThrow("the term is over");
    expect(api.requests).toEqual([]);
  });
});
