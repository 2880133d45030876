import path from "node:path";
import type { Node, Pod } from "../../agent/api/core.ts";
import type { KubeObject } from "../../agent/api/meta.ts";
import { SystemClock } from "../../agent/base/clock.ts";
import type { ApiRequest, ApiResponse } from "../../simulator/site-api/requests/exchange.ts";
import { type Listening, serve } from "../../simulator/site-api/server.ts";
import { SiteApi } from "../../simulator/site-api/site-api.ts";
import { Database } from "../../storage/database/database.ts";
import { RevisionLog, siteMigrations } from "../../storage/revision-log.ts";
import { pragmas } from "../storage/object-store.ts";
import { RecordingLog } from "../support/recording-log.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { asked, Ledger } from "./ledger.ts";
import { SiteHistory } from "./site-history.ts";

/** Moments of an exchange at which the power can be cut, all visible to the server. */
export type Moment = "request" | "answer" | "event" | "act" | "acted";

/** The site's API server, which records its agent's requests and the history of all objects. */
export class RecordedSite {
  readonly ledger = new Ledger();
  readonly history: SiteHistory;
  /** Called at each moment of the agent's exchanges. */
  moment: (moment: Moment) => void = () => {};
  readonly #api: SiteApi;
  readonly #database: Database;
  readonly #log: RevisionLog;
  #listening: Listening | undefined;

  constructor(folder: string, seed: number) {
    const file = path.join(folder, "site.db");
    const ambient = { clock: new SystemClock(), random: new SeededRandom(seed), log: new RecordingLog() };
    this.#api = new SiteApi(ambient, { file });
    // A second connection to the server's file, to read the history and to compact it.
    this.#database = Database.open({ file, migrations: siteMigrations, pragmas });
    this.#log = new RevisionLog(this.#database);
    this.history = new SiteHistory(this.#log);
  }

  async listen(): Promise<number> {
    const log = new RecordingLog();
    const deps = { clock: new SystemClock(), log, handle: (request: ApiRequest) => this.#handle(request) };
    this.#listening = await serve(deps, 0, "127.0.0.1");
    return this.#listening.port;
  }

  async close(): Promise<void> {
    await this.#listening?.close();
    await this.#api.close();
    this.#database.close();
  }

  /** A request of kubelets, people or other controllers. Returns undefined if the server refused it. */
  ask<T extends KubeObject>(method: string, at: string, body?: object): T | undefined {
    const signal = new AbortController().signal;
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = this.#settle({ method, path: at, headers: { "content-type": type }, signal, ...text });
    void answer.then(({ status, body: deps }) => (status >= 500 ? this.#failed(method, at, deps) : undefined));
    return this.#read<T>(at.split("?")[0] ?? at);
  }

  objects<T extends KubeObject>(prefix: string): readonly T[] {
    return [...this.history.at(prefix, this.history.revision)] as T[];
  }

  /** Compacts all but the last few changes: a reader from before them has to list again. */
  compact(left: number): void {
    this.history.follow();
    const upTo = this.#log.revision - left;
    while (this.#log.compact(upTo, 10_000));
  }

  async #handle(request: ApiRequest): Promise<ApiResponse> {
    if (!request.headers["user-agent"]?.startsWith("siteward/")) return this.#api.handle(request);
    const { does, resource } = asked(request);
    if (does === "list") this.ledger.list(resource, request.path);
    const isAct = does === "write" && /\/(nodes|pods)\//.test(request.path);
    this.moment("request");
    if (isAct) this.moment("act");
    const response = does === "write" ? await this.#write(request) : await this.#settle(request);
    if (isAct) this.moment("acted");
    if (response.status === 410 && /[?&]resourceVersionMatch=Exact\b/.test(request.path)) this.ledger.forgotten();
    if (response.status === 410 && (does === "list" || does === "watch")) this.ledger.refused(resource);
    else if (does === "watch" && response.status === 200) this.ledger.watch(resource);
    this.moment("answer");
    return does === "watch" ? { ...response, body: this.#watched(response.body, resource) } : response;
  }

  /** The server's act, by the object before and after it: nothing else happens in between. */
  async #write(request: ApiRequest): Promise<ApiResponse> {
    const at = request.path.split("?")[0]?.replace(/\/(status|eviction)$/, "") ?? "";
    const before = this.#read(at);
    const answering = this.#settle(request);
    const after = this.#read(at);
    const response = await answering;
    if (response.status === 409) this.ledger.conflict();
    if (response.status < 300 && /\/kube-system\/leases\/siteward-/.test(at)) this.ledger.renewed(performance.now());
    if (response.status >= 300 || before === undefined) return response;
    if (request.method === "DELETE" && at.includes("/pods/"))
      this.ledger.deletion(before as Pod, request.body, performance.now());
    if (request.method === "PATCH" && at.startsWith("/api/v1/nodes/") && after !== undefined)
      this.ledger.nodeWrite(before as Node, after as Node);
    return response;
  }

  #settle(request: ApiRequest): Promise<ApiResponse> {
    const answer = this.#api.handle(request);
    const name = /^\/api\/v1\/nodes\/([^/?]+)/.exec(request.path)?.[1];
    if (request.method !== "GET" && name !== undefined)
      this.ledger.board(name, this.#read<Node>(`/api/v1/nodes/${name}`), performance.now());
    if (request.method === "POST" && request.path === "/api/v1/nodes") {
      for (const node of this.objects<Node>("nodes/")) this.ledger.board(node.metadata.name, node, performance.now());
    }
    return answer;
  }

  async *#watched(body: AsyncIterable<Uint8Array>, resource: string): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of body) {
      this.moment("event");
      if (/^\{"type":"ERROR".*"code":410\b/m.test(Buffer.from(chunk).toString())) this.ledger.refused(resource);
      yield chunk;
      this.moment("event");
    }
  }

  #read<T extends KubeObject>(at: string): T | undefined {
    const key = keyAt(at);
    const text = key === undefined ? undefined : this.#log.get(key)?.value;
    return text === undefined ? undefined : (JSON.parse(text) as T);
  }

  async #failed(method: string, at: string, deps: AsyncIterable<Uint8Array>): Promise<void> {
    let text = "";
    for await (const part of deps) text += Buffer.from(part).toString();
    this.ledger.problems.push(`the site API failed at ${method} ${at}: ${text}`);
  }
}

/** /api/v1/namespaces/default/pods/a -> pods/default/a */
function keyAt(at: string): string | undefined {
  const [, namespace, plural, name] =
    /^\/(?:api|apis\/[^/]+)\/v1\/(?:namespaces\/([^/]+)\/)?([^/]+)\/([^/]+)/.exec(at) ?? [];
  return name === undefined ? undefined : [plural, ...(namespace === undefined ? [] : [namespace]), name].join("/");
}
