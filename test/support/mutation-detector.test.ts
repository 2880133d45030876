import { expect, test } from "vitest";
import { nodes } from "../../agent/api/resources.ts";
import { InformerSet } from "../../agent/informer/informer-set.ts";
import { limits, openCache } from "../agent/informer/cache.ts";
import { FakeApi } from "../agent/informer/fake-api.ts";
import { node } from "../agent/informer/objects.ts";
import { FakeClock } from "./fake-clock.ts";
import { RecordingLog } from "./recording-log.ts";
import { SeededRandom } from "./seeded-random.ts";

test("a change of a shared cached object throws, regardless of how the object was cached", async () => {
  const clock = new FakeClock();
  const api = new FakeApi(clock);
  const database = openCache();
  const settings = { pageSize: 500, deltasPerObject: 16, decodedBytes: 100_000, limits };
  const set = (): InformerSet =>
    new InformerSet(
      { clock, log: new RecordingLog(), random: new SeededRandom(1) },
      { client: api, database, settings, scope: {} },
    );
  api.put(nodes, node("pi-1"));
  const first = set();
  const { lister } = first.informer(nodes);
  const stop = new AbortController();
  const running = first.run(stop.signal);
  await clock.advance("1s");
  const spoil = (): void => {
    const found = lister.get("pi-1");
    if (found) Object.assign(found.metadata.labels ?? found.metadata, { spoilt: "yes" });
  };
  expect(spoil).toThrow(TypeError);

  api.put(nodes, node("pi-1"));
  await clock.advance("1s");
  expect(spoil).toThrow(TypeError);
  stop.abort();
  await running;

  const stored = set().informer(nodes).lister.get("pi-1");
  expect(() => Object.assign(stored?.metadata ?? {}, { name: "pi-2" })).toThrow(TypeError);
});
