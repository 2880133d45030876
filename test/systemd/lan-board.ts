import { SystemClock } from "../../agent/base/clock.ts";
import { noopLogger } from "../../agent/base/logger.ts";
import { SystemRandom } from "../../agent/base/random.ts";
import { announcementText, parseAnnouncement } from "../../agent/witness/announcement.ts";
import { Answerer } from "../../agent/witness/answerer.ts";
import { BoardKey } from "../../agent/witness/board-key.ts";
import { KubeletHealth } from "../../agent/witness/kubelet-health.ts";
import { QuestionPort } from "../../agent/witness/question-port.ts";
import { udp } from "../../agent/witness/udp.ts";

/**
 * Another board of the site, on the LAN alone.
 *
 * `lan-board.ts answer NAME ADDRESS` prints its announcement and answers questions. `lan-board.ts ask NAME ANNOUNCEMENT`
 * asks a board, prints the state of its kubelet, and ends; the exit code is 1 if no valid answer arrives.
 */
const [act, name = "", what = ""] = process.argv.slice(2);
const site = "default";
const ambient = { clock: new SystemClock(), random: new SystemRandom(), log: noopLogger };
const signal = new AbortController().signal;

if (act === "answer") {
  const file = { read: () => undefined, write: () => {} };
  const [key, port, bootId] = [BoardKey.kept(file, noopLogger), 10270, "boot"];
  const kubelet = new KubeletHealth(ambient, { ask: () => Promise.resolve("ok"), file, bootId });
  console.log(announcementText({ key: key.publicText, port, addresses: [what] }));
  await new Answerer(ambient, { lan: udp, port, site, board: name, bootId, key, kubelet }).run(signal);
}

const announced = parseAnnouncement(what);
if (announced === undefined) throw new Error(`not an announcement: ${what}`);
const port = new QuestionPort(
  ambient,
  { lan: udp, paths: () => () => "lan", everyoneOn: () => [], site },
  ({ board, statement }) => {
    console.log(`${board}: kubelet ${statement.kubelet.is}`);
    process.exit(0);
  },
);
await port.open(signal);
port.ask(name, announced);
setTimeout(() => process.exit(1), 3000);
