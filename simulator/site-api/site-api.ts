import type { Ambient } from "../../agent/base/ambient.ts";
import { TaskGroup } from "../../agent/base/concurrency/tasks.ts";
import { Database, type Pragmas } from "../../storage/database/database.ts";
import { RevisionLog, siteMigrations } from "../../storage/revision-log.ts";
import { answer } from "./handler.ts";
import { settleDependents } from "./housekeeping/dependents.ts";
import { forgetHistory } from "./housekeeping/history.ts";
import { emptyNamespaces } from "./housekeeping/namespace-emptier.ts";
import { ChangeTail } from "./objects/change-tail.ts";
import { ObjectStore } from "./objects/object-store.ts";
import type { Site } from "./requests/call.ts";
import type { ApiRequest, ApiResponse } from "./requests/exchange.ts";
import { namespacesServed } from "./served.ts";
import { type Listening, serve } from "./server.ts";
import { createObject } from "./verbs/write.ts";

/** A power cut may lose the last second of writes, which is acceptable because the file is only a convenience. */
const pragmas: Pragmas = {
  synchronous: "NORMAL",
  cacheKiB: 2048,
  mmapMiB: 0,
  walAutocheckpointPages: 1000,
  journalSizeLimitKiB: 4096,
};

/** Objects that every cluster has from the start. */
const namespacesAtStart = ["default", "kube-node-lease", "kube-public", "kube-system"];

const tailLimits = { changes: 1024, characters: 4 * 1024 * 1024 };

/**
 * A small Kubernetes API server: objects in one SQLite file, every write a new revision, watches that resume. For
 * trials, simulations and tests. It listens on the loopback interface only, and has neither users nor authorization.
 */
export class SiteApi {
  readonly #ambient: Ambient;
  readonly #database: Database;
  readonly #log: RevisionLog;
  readonly #site: Site;
  readonly #closing = new AbortController();
  readonly #listening = new Set<Listening>();

  /** `file`: a path, or ":memory:". Existing content is served. */
  constructor(ambient: Ambient, { file }: { readonly file: string }) {
    this.#ambient = ambient;
    this.#database = Database.open({ file, migrations: siteMigrations, pragmas, disposable: false });
    this.#log = new RevisionLog(this.#database);
    const { clock, random } = ambient;
    const tail = new ChangeTail(this.#log.revision, tailLimits);
    const store = new ObjectStore({ log: this.#log, tail });
    this.#site = { clock, random, store, tail, closing: this.#closing.signal };
    for (const name of namespacesAtStart) {
      if (store.get(namespacesServed, undefined, name) !== undefined) continue;
      createObject(this.#site, namespacesServed, undefined, { metadata: { name } }, false);
    }
  }

  /** Equivalent to a request over HTTP; an agent can use this function as its transport. Never throws. */
  handle(request: ApiRequest): Promise<ApiResponse> {
    return Promise.resolve(answer(this.#site, request, this.#ambient.log));
  }

  /** Serves HTTP until the returned server, or the whole API, is closed. Port 0: any free port. */
  async listen(port: number, host = "127.0.0.1"): Promise<Listening> {
    const { clock, log } = this.#ambient;
    const listening = await serve({ clock, log, handle: (request) => this.handle(request) }, port, host);
    this.#listening.add(listening);
    const close = async (): Promise<void> => {
      this.#listening.delete(listening);
      await listening.close();
    };
    return { port: listening.port, close };
  }

  /**
   * Upkeep: removes old history, empties namespaces being deleted, and deletes owners that are waiting for their
   * dependents. Ends when the signal aborts.
   */
  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup(signal);
    tasks.start("forgetting of history", (aborted) => forgetHistory(this.#site, this.#log, aborted));
    tasks.start("emptying of namespaces", (aborted) => emptyNamespaces(this.#site, aborted));
    tasks.start("settling of dependents", (aborted) => settleDependents(this.#site, aborted));
    await tasks.join();
  }

  /**
   * Ends watches and connections and closes the file; later requests are answered with 503. A server started on the
   * same file continues from there. `run` must have ended before.
   */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new Error("the server is shutting down"));
    await Promise.all([...this.#listening].map((listening) => listening.close()));
    this.#database.close();
  }
}
