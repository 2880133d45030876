import type { Ambient } from "../../../agent/base/ambient.ts";
import { answer } from "../../../simulator/site-api/handler.ts";
import { forgetHistory } from "../../../simulator/site-api/housekeeping/history.ts";
import { ChangeTail } from "../../../simulator/site-api/objects/change-tail.ts";
import { ObjectStore } from "../../../simulator/site-api/objects/object-store.ts";
import type { Site } from "../../../simulator/site-api/requests/call.ts";
import type { ApiRequest, ApiResponse } from "../../../simulator/site-api/requests/exchange.ts";
import { namespacesServed } from "../../../simulator/site-api/served.ts";
import { createObject } from "../../../simulator/site-api/verbs/write.ts";
import { Database } from "../../../storage/database/database.ts";
import { siteMigrations } from "../../../storage/revision-log.ts";
import { fastPragmas } from "./board-storage.ts";
import { MemoryLog } from "./memory-log.ts";

const namespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];
const tailLimits = { changes: 1024, characters: 4 * 1024 * 1024 };

/**
 * The embedded API as a function, with access to SiteApi's private parts: its history can be dropped at any moment, and
 * a restart loses only the memory.
 */
export class SimulatedApi {
  readonly #ambient: Ambient;
  readonly #database: Database;
  readonly #log: MemoryLog;
  #closing = new AbortController();
  #site: Site;
  #isUp = true;

  constructor(ambient: Ambient) {
    this.#ambient = ambient;
    this.#database = Database.open({ file: ":memory:", migrations: siteMigrations, pragmas: fastPragmas });
    this.#log = new MemoryLog(this.#database);
    this.#site = this.#start();
    for (const name of namespaces) createObject(this.#site, namespacesServed, undefined, { metadata: { name } }, false);
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** A request takes effect at once; its answer's body may be read later. */
  handle(request: ApiRequest): ApiResponse {
    return answer(this.#site, request, this.#ambient.log);
  }

  /** Ends all watches; requests fail until `start`. */
  stop(): void {
    this.#isUp = false;
    this.#closing.abort(new Error("the server is shutting down"));
  }

  /** The revision that a backup refers to. */
  get revision(): number {
    return this.#log.revision;
  }

  /** `forgetful`: no watch can be resumed. `backup`: the store is restored to this revision. */
  start({ forgetful, backup }: { readonly forgetful: boolean; readonly backup?: number }): void {
    if (backup !== undefined) this.#log.rollBack(backup);
    if (forgetful) this.compact();
    this.#closing = new AbortController();
    this.#site = this.#start();
    this.#isUp = true;
  }

  compact(): void {
    while (this.#log.compact(this.#log.revision, 10_000));
  }

  /** The stored text of an object, by its key in the log ("nodes/pi-1"). */
  stored(key: string): string | undefined {
    return this.#log.get(key)?.value;
  }

  /** The texts of all objects whose keys have this prefix. */
  all(prefix: string): readonly string[] {
    const range = { from: prefix, to: `${prefix.slice(0, -1)}0` };
    return this.#log.page(range, this.#log.revision, 100_000).map(({ value }) => value);
  }

  close(): void {
    this.stop();
    this.#database.closeWithoutCheckpoint();
  }

  #start(): Site {
    const { clock, random } = this.#ambient;
    const tail = new ChangeTail(this.#log.revision, tailLimits);
    const site = {
      clock,
      random,
      tail,
      store: new ObjectStore({ log: this.#log, tail }),
      closing: this.#closing.signal,
    };
    void forgetHistory(site, this.#log, this.#closing.signal);
    return site;
  }
}
