import type { Ambient } from "../../agent/base/ambient.ts";
import { TaskGroup } from "../../agent/base/tasks.ts";
import { Database, type Pragmas } from "../../storage/database.ts";
import { RevisionLog, siteMigrations } from "../../storage/revision-log.ts";
import type { Site } from "./call.ts";
import { ChangeTail } from "./change-tail.ts";
import { settleDependents } from "./dependents.ts";
import type { ApiRequest, ApiResponse } from "./exchange.ts";
import { answer } from "./handler.ts";
import { forgetHistory } from "./history.ts";
import { emptyNamespaces } from "./namespace-emptier.ts";
import { ObjectStore } from "./object-store.ts";
import { namespacesServed } from "./served.ts";
import { type Listening, serve } from "./server.ts";
import { createObject } from "./write.ts";

/** A site that is lost with the power of one board may lose its last second too: the file is a convenience. */
const pragmas: Pragmas = {
  synchronous: "NORMAL",
  cacheKiB: 2048,
  mmapMiB: 0,
  walAutocheckpointPages: 1000,
  journalSizeLimitKiB: 4096,
};

/** What every cluster has from the start. */
const namespacesAtStart = ["default", "kube-node-lease", "kube-public", "kube-system"];

const tailLimits = { changes: 1024, characters: 4 * 1024 * 1024 };

/**
 * A small Kubernetes API server: objects in one SQLite file, every write a new revision, watches that resume. To try, to
 * simulate and to test with; it has no users and no authorization and listens on the loopback.
 */
export class SiteApi {
  readonly #ambient: Ambient;
  readonly #database: Database;
  readonly #log: RevisionLog;
  readonly #site: Site;
  readonly #closing = new AbortController();
  readonly #listening = new Set<Listening>();

  /** `file`: a path, or ":memory:". What is in it is served on. */
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

  /** Never throws. The same as a request over HTTP; an agent's transport may be this function. */
  handle(request: ApiRequest): Promise<ApiResponse> {
    return Promise.resolve(answer(this.#site, request, this.#ambient.log));
  }

  /** Serves HTTP until `close` of the result, or of all of it. Port 0: any free one. */
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

  /** Upkeep: forgets old history, empties namespaces that are being deleted, lets owners go. Ends when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup(signal);
    tasks.start("forgetting of history", (aborted) => forgetHistory(this.#site, this.#log, aborted));
    tasks.start("emptying of namespaces", (aborted) => emptyNamespaces(this.#site, aborted));
    tasks.start("settling of dependents", (aborted) => settleDependents(this.#site, aborted));
    await tasks.join();
  }

  /**
   * Ends watches and connections and closes the file; requests are answered 503 from then on. A server that is started
   * again on the same file goes on where this one ended. `run` has to have ended before.
   */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new Error("the server is shutting down"));
    await Promise.all([...this.#listening].map((listening) => listening.close()));
    this.#database.close();
  }
}
