import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { openCache } from "../../storage/database/open.ts";
import { pragmas, scratch } from "./object-store.ts";
import { cacheOf, follow, mix } from "./power-cut-model.ts";
import { expectSound } from "./soundness.ts";

/** Runs the writer and kills it `delay` milliseconds after it has begun. */
async function writeUntilKilled(file: string, seed: number, delay: number): Promise<void> {
  const writer = spawn(process.execPath, [path.join(import.meta.dirname, "power-cut-writer.ts"), file, String(seed)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(writer, "exit");
  await once(writer.stdout, "data");
  await new Promise((resolve) => setTimeout(resolve, delay));
  writer.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);
}

test("a process killed at any moment leaves matching position, journal and objects, and the next process continues", async () => {
  using folder = scratch();
  const [file, seed] = [folder.file("cache.db"), 20];
  let reached = 0;
  for (let round = 0; round < 10; round++) {
    await writeUntilKilled(file, seed, mix(seed, round) % 120);
    const { database, rebuilt } = openCache({ file, pragmas });
    expect(rebuilt).toBeUndefined();
    const position = expectSound(cacheOf(database), seed);
    expect(position).toBeGreaterThanOrEqual(reached);
    reached = position;
    database.close();
  }
  expect(reached).toBeGreaterThan(100);
});

test.each([3, 4, 5])(
  "a power cut that loses any part of the last writes leaves a whole earlier state (seed %i)",
  (seed) => {
    using folder = scratch();
    const [file, cut] = [folder.file("cache.db"), folder.file("cut.db")];
    // Without checkpoints the whole history is in the WAL, so that a cut can reach back to its beginning.
    const { database } = openCache({ file, pragmas: { ...pragmas, walAutocheckpointPages: 0 } });
    follow(cacheOf(database), seed, 60);
    const wal = readFileSync(`${file}-wal`);
    const positions = new Set<number>();
    for (let round = 0; round < 25; round++) {
      copyFileSync(file, cut);
      const kept = wal.subarray(0, mix(seed, round, 1) % wal.length);
      // Blocks that were on their way may hold anything.
      const noise = Buffer.alloc(mix(seed, round, 2) % 5000, round);
      writeFileSync(`${cut}-wal`, Buffer.concat([kept, noise]));
      const opened = openCache({ file: cut, pragmas });
      expect(opened.rebuilt).toBeUndefined();
      const cache = cacheOf(opened.database);
      positions.add(expectSound(cache, seed));
      follow(cache, seed, 5);
      expectSound(cache, seed);
      opened.database.close();
    }
    database.closeWithoutCheckpoint();
    expect(positions.size).toBeGreaterThan(10);
  },
);
