import { afterAll, expect, test } from "vitest";
import { inMemory, scratch } from "../storage/object-store.ts";
import { cutEverywhere } from "./cut-blocks.ts";
import { recordWriter, whyNotRecorded } from "./recorded-writes.ts";

const why = whyNotRecorded();
if (why !== undefined) console.log(`skipped: recorded writes cut at block boundaries, because ${why}`);

const recorded = test.skipIf(why !== undefined);

const place = scratch(inMemory);
afterAll(() => place[Symbol.dispose]());

recorded.for([1, 2])(
  "a disk that loses, reorders or tears unsynced writes leaves both files intact (seed %i)",
  { retry: 0 },
  (seed) => {
    const deeds = recordWriter(place.file(String(seed)), { seed, rounds: 45 });
    const cut = cutEverywhere(deeds, { folder: place.file("cut"), seed, cuts: 30 });
    expect(cut.states).toBeGreaterThan(120);
    expect(cut.positions).toBeGreaterThan(10);
  },
);

recorded("a disk that loses synced writes is detected", { retry: 0 }, () => {
  const honest = recordWriter(place.file("lying"), { seed: 3, rounds: 15 });
  const lying = honest.filter((deed) => deed.do !== "sync" || deed.file !== "state.db-wal");
  const cut = () => cutEverywhere(lying, { folder: place.file("cut"), seed: 3, cuts: 30 });
  // The number that links the cache to the state may be lost first.
  const message = expect.stringMatching(/state\.db differs|the cache was discarded/);
  expect(cut).toThrow(expect.objectContaining({ cause: expect.objectContaining({ message }) }));
});
