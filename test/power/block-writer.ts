/**
 * Fills and uses a state folder like an agent, and records in the file `marks` which writes were acknowledged:
 * node block-writer.ts FOLDER SEED ROUNDS
 */
import { closeSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import { Memo } from "../../storage/memo.ts";
import { StateFolder } from "../../storage/state-folder.ts";
import { pragmas } from "../storage/object-store.ts";
import { cacheOf, follow } from "../storage/power-cut-model.ts";
import { deedOf } from "./memo-model.ts";

const [, , folder = "", seed = "", rounds = ""] = process.argv;
/** Early checkpoints, so that the main files are written too. */
const early = { ...pragmas, walAutocheckpointPages: 12 };
const marks = openSync(path.join(folder, "marks"), "w");
const starts = 3;
let deeds = 0;
for (let start = 0; start < starts; start++) {
  const state = StateFolder.open({ folder, pragmas: early, stamp: String(start) });
  const memo = new Memo(state.state.database);
  const cache = cacheOf(state.cache.database);
  for (let round = 0; round < Number(rounds) / starts; round++) {
    follow(cache, Number(seed), 1);
    deedOf(Number(seed), ++deeds)(memo);
    writeSync(marks, `${deeds}\n`);
  }
  // One clean stop, and one that leaves the logs behind.
  if (start % 2 === 0) state.close();
  else state.closeWithoutCheckpoint();
}
closeSync(marks);
