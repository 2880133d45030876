import { SystemClock } from "../../agent/base/clock.ts";
import { noopLogger } from "../../agent/base/logger.ts";
import { SystemRandom } from "../../agent/base/random.ts";
import { SiteApi } from "../../simulator/site-api/site-api.ts";

/** The embedded API server as a process, for the board of a story: `site-server.ts PORT`. */
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort(new Error("stopped by a signal")));
const api = new SiteApi(
  { clock: new SystemClock(), random: new SystemRandom(), log: noopLogger },
  { file: ":memory:" },
);
const running = api.run(stop.signal);
await api.listen(Number(process.argv[2]));
await running;
await api.close();
process.exit(0);
