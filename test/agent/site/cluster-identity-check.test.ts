import { expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { ApiError } from "../../../agent/client/api-error.ts";
import { ClusterIdentityCheck, OtherClusterError } from "../../../agent/site/cluster-identity-check.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const refusal = (status: number, reason: string): ApiError =>
  new ApiError({ verb: "get", target: "namespace kube-system" }, { status, reason, message: reason });

function setUp() {
  const clock = new FakeClock();
  const facts = new Map<string, string>();
  const identified: string[] = [];
  const world = { uid: "east" as string | Error, address: "a1", asked: 0 };
  const home = new ClusterIdentityCheck(
    { clock, log: new RecordingLog(), random: new SeededRandom() },
    {
      client: {
        get: async <T extends KubeObject>(): Promise<T> => {
          world.asked++;
          if (world.uid instanceof Error) throw world.uid;
          return { metadata: { name: "kube-system", uid: world.uid, resourceVersion: "1" } } as KubeObject as T;
        },
      },
      address: async () => world.address,
      identified: (cluster) => void identified.push(cluster),
      facts: {
        get: (area, key) => facts.get(`${area}/${key}`),
        set: (area, key, value) => void facts.set(`${area}/${key}`, value),
      },
    },
  );
  const { signal } = new AbortController();
  const check = (cache: "empty" | "filled", until = signal) => home.check(() => cache === "empty", until);
  return { clock, world, facts, identified, check };
}

test("an empty cache is tied to the cluster that fills it, and used there from then on", async () => {
  const { facts, check } = setUp();
  await check("empty");
  expect(facts.get("cache/cluster")).toBe("uid:east");
  await check("filled");
});

test("a cache of another cluster cannot be used; once emptied it belongs to the new cluster", async () => {
  const { facts, identified, world, check } = setUp();
  await check("empty");
  world.uid = "west";
  await expect(check("filled")).rejects.toThrow("the cache was filled from another cluster");
  await expect(check("filled")).rejects.toMatchObject({ disposition: "rebuild" });
  expect(facts.get("cache/cluster")).toBe("uid:east");
  await check("empty");
  expect(facts.get("cache/cluster")).toBe("uid:west");
  expect(identified).toEqual(["uid:east", "uid:west", "uid:west", "uid:west"]);
});

test("a filled cache of unknown origin is not trusted", async () => {
  const { check } = setUp();
  await expect(check("filled")).rejects.toThrow("state.db does not record which cluster the cache was filled from");
});

test("if kube-system may not be read, the server's address and authority identify the cluster", async () => {
  const { facts, world, check } = setUp();
  world.uid = refusal(403, "Forbidden");
  await check("empty");
  expect(facts.get("cache/cluster")).toBe("address:a1");
  await check("filled");
  world.address = "b2";
  await expect(check("filled")).rejects.toThrow(OtherClusterError);
  await expect(check("filled")).rejects.toThrow("the address or the CA of the API server has changed");
  world.uid = "east";
  await expect(check("filled")).rejects.toThrow("permission to read the uid of kube-system was granted or revoked");
});

test("the agent waits for an answer, as long as it takes, or until it is stopped", async () => {
  const { clock, world, check } = setUp();
  world.uid = refusal(503, "ServiceUnavailable");
  let done = false;
  const checking = check("empty").then(() => {
    done = true;
  });
  await clock.advance("5m");
  expect(done).toBe(false);
  expect(world.asked).toBeLessThan(40);
  world.uid = "east";
  await clock.advance("30s");
  await checking;

  const stop = new AbortController();
  world.uid = refusal(503, "ServiceUnavailable");
  const given = check("filled", stop.signal);
  await clock.advance("10s");
  stop.abort();
  await given;
  expect(clock.timers).toBe(0);
});
