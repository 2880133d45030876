import { SystemClock } from "../../agent/base/clock.ts";
import { silent } from "../../agent/base/logger.ts";
import { SystemRandom } from "../../agent/base/random.ts";
import { SiteApi } from "../../simulator/site-api/site-api.ts";

/** The embedded API server as a process of its own, for a board of a story to look after: `site-server.ts PORT`. */
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort(new Error("told to stop")));
const api = new SiteApi({ clock: new SystemClock(), random: new SystemRandom(), log: silent }, { file: ":memory:" });
const running = api.run(stop.signal);
await api.listen(Number(process.argv[2]));
await running;
await api.close();
process.exit(0);
