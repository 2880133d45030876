import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Clock, SystemClock } from "../../agent/base/clock.ts";
import type { Logger } from "../../agent/base/logger.ts";
import type { ApiRequest, ApiResponse } from "../../simulator/site-api/requests/exchange.ts";
import { type Listening, serve } from "../../simulator/site-api/server.ts";
import { SiteApi } from "../../simulator/site-api/site-api.ts";
import { Database } from "../../storage/database/database.ts";
import { RevisionLog, siteMigrations } from "../../storage/revision-log.ts";
import { RecordingLog } from "../support/recording-log.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { plainTarget, type Target } from "./target.ts";

export type Handle = (request: ApiRequest) => Promise<ApiResponse>;

/** The embedded API on a loopback port, in this process. `served` may wrap its handler. */
export class EmbeddedServer {
  readonly target: Target;
  readonly #close: () => Promise<void>;

  private constructor(target: Target, close: () => Promise<void>) {
    this.target = target;
    this.#close = close;
  }

  static async start(
    served: (handle: Handle) => Handle = (handle) => handle,
    listen: (handle: Handle, clock: Clock, log: Logger) => Promise<Listening> = byItself,
  ): Promise<EmbeddedServer> {
    const folder = mkdtempSync(path.join(tmpdir(), "siteward-conformance-"));
    const file = path.join(folder, "site.db");
    const clock = new SystemClock();
    const log = new RecordingLog();
    const api = new SiteApi({ clock, log, random: new SeededRandom(Date.now()) }, { file });
    const stop = new AbortController();
    const running = api.run(stop.signal);
    const handle = served((request) => api.handle(request));
    const listening = await listen(handle, clock, log);
    const close = async (): Promise<void> => {
      stop.abort(new Error("the rules were checked"));
      await running;
      await listening.close();
      await api.close();
      rmSync(folder, { recursive: true });
    };
    return new EmbeddedServer(
      plainTarget(`http://127.0.0.1:${listening.port}`, () => compacted(file)),
      close,
    );
  }

  stop(): Promise<void> {
    return this.#close();
  }
}

const byItself = (handle: Handle, clock: Clock, log: Logger): Promise<Listening> =>
  serve({ clock, log, handle }, 0, "127.0.0.1");

/** Compacts the history through the file, which the server does after five minutes. */
function compacted(file: string): Promise<void> {
  const pragmas = {
    synchronous: "NORMAL",
    cacheKiB: 2048,
    mmapMiB: 0,
    walAutocheckpointPages: 1000,
    journalSizeLimitKiB: 4096,
  } as const;
  const database = Database.open({ file, migrations: siteMigrations, pragmas, disposable: false });
  const log = new RevisionLog(database);
  while (log.compact(log.revision, 500));
  database.close();
  return Promise.resolve();
}
