import { appendFileSync, closeSync, fsyncSync, openSync } from "node:fs";
import path from "node:path";
import { CommandBoard, lastOf, order } from "../../../support/command-desk.ts";

/**
 * A process that is given one command and is killed at one point of it, or lives to its end and prints the answer.
 * killed-desk.ts FOLDER NAME [STEP before|after]
 */
const [folder = "", name = "", step, when] = process.argv.slice(2);

const dies = (at: string, moment: string): void => {
  if (at === step && moment === when) process.kill(process.pid, "SIGKILL");
};

const board = new CommandBoard(path.join(folder, "state.db"));
board.atWrite = dies;
board.effect = async (what) => {
  dies("effect", "before");
  const handle = openSync(path.join(folder, "effects"), "a");
  appendFileSync(handle, `${what}\n`);
  fsyncSync(handle);
  closeSync(handle);
  dies("effect", "after");
  return { outcome: "done", result: {} };
};

const args = name === "leader.step-down" ? {} : { ttl: 600 };
const request = order({ id: "ONE", name, args }, { scope: "site" });
const desk = board.start();
// What the process before left behind has its turn first.
await board.clock.advance("1s");
await lastOf(await desk.take(request));
const answer = await lastOf(await desk.take(request));
process.stdout.write(JSON.stringify(answer));
