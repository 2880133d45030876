import { randomBytes } from "node:crypto";
import { itemsAt, type JsonObject, type JsonValue, textAt } from "../../agent/api/json.ts";
import { Answer } from "./answer.ts";
import { type Asked, Client, type Query } from "./client.ts";
import { at, lease, mergePatch } from "./objects.ts";
import type { Target } from "./target.ts";
import { NotChecked, Unmet } from "./unmet.ts";
import type { WatchStream } from "./watch-stream.ts";

/** What one rule stands on: the server, namespaces and names of its own, and the end of all of it. */
export class Ground {
  readonly client: Client;
  readonly target: Target;
  /** How long something that must come may take. */
  readonly patience: number;
  readonly #rule: string;
  readonly #watches: WatchStream[] = [];
  readonly #made: (() => Promise<unknown>)[] = [];

  constructor(target: Target, rule: string, patience: number) {
    this.target = target;
    this.client = new Client(target);
    this.#rule = rule;
    this.patience = patience;
  }

  get(path: string, query: Query = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.client.ask("GET", path, { query, headers });
  }

  post(path: string, body: Asked["body"], query: Query = {}): Promise<Answer> {
    return this.client.ask("POST", path, { query, ...(body !== undefined && { body }) });
  }

  put(path: string, body: JsonValue, query: Query = {}): Promise<Answer> {
    return this.client.ask("PUT", path, { body, query });
  }

  patch(path: string, body: JsonValue, type = mergePatch, query: Query = {}): Promise<Answer> {
    return this.client.ask("PATCH", path, { body, type, query });
  }

  /** `options`: DeleteOptions in the body. */
  delete(path: string, options?: JsonObject, query: Query = {}): Promise<Answer> {
    const body = options && { kind: "DeleteOptions", apiVersion: "v1", ...options };
    return this.client.ask("DELETE", path, { query, ...(body && { body }) });
  }

  /** A stream of events; throws where it is refused. */
  async watch(path: string, query: Query = {}, accept?: string): Promise<WatchStream> {
    const watch = await this.tryWatch(path, query, accept);
    if (watch instanceof Answer) throw new Unmet(watch.request, "a stream of events", `${watch.status} ${watch.text}`);
    return watch;
  }

  async tryWatch(path: string, query: Query = {}, accept?: string): Promise<WatchStream | Answer> {
    const watch = await this.client.watch(path, query, this.patience, accept);
    if (!(watch instanceof Answer)) this.#watches.push(watch);
    return watch;
  }

  /** A name that nobody else has, for what lies in no namespace. */
  name(): string {
    return `conformance-${this.#rule}-${randomBytes(4).toString("hex")}`.slice(0, 63);
  }

  /** A namespace of its own. */
  async space(): Promise<Space> {
    const name = this.name();
    await this.make("namespaces", { kind: "Namespace", apiVersion: "v1", metadata: { name } });
    const space = new Space(this, name);
    // Also where no controller empties namespaces that are to go.
    this.afterwards(() => space.empty());
    return space;
  }

  /** Something that lies in no namespace, gone with the rule. */
  async make(resource: string, object: JsonObject & { readonly metadata: JsonObject }): Promise<Answer> {
    const path = at(resource, undefined, String(object.metadata.name));
    this.afterwards(() => this.remove(path));
    return (await this.post(at(resource), object)).is(201);
  }

  /** Done when the rule was looked at, whatever came of it; the last one first. */
  afterwards(undo: () => Promise<unknown>): void {
    this.#made.push(undo);
  }

  /** Makes the server forget its history. A rule that needs it is not checked where that cannot be asked for. */
  async compact(): Promise<void> {
    if (this.target.compact === undefined) throw new NotChecked("this server cannot be told to compact its history");
    await this.target.compact();
  }

  /** Ends watches, takes away what was made. Never throws: what a rule found out is not to be lost over it. */
  async clear(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    for (const undo of this.#made.reverse()) await undo().catch(() => undefined);
    this.client.close();
  }

  /** At once, whoever would want to do something before. */
  async remove(path: string): Promise<void> {
    await this.patch(path, { metadata: { finalizers: null } });
    await this.delete(path, { gracePeriodSeconds: 0 });
  }
}

/** A namespace that one rule has to itself. */
export class Space {
  readonly name: string;
  readonly #site: Ground;
  readonly #used = new Set<string>();

  constructor(site: Ground, name: string) {
    this.#site = site;
    this.name = name;
  }

  at(resource: string, ...parts: readonly string[]): string {
    return at(resource, this.name, ...parts);
  }

  async create(resource: string, object: JsonObject): Promise<Answer> {
    const name = textAt(object, "metadata", "name");
    this.#used.add(resource);
    // Nobody else would let go of these, and the namespace could not go.
    const stays = resource === "pods" || itemsAt(object, "metadata", "finalizers").length > 0;
    if (stays) this.#site.afterwards(() => this.#site.remove(this.at(resource, name)));
    return (await this.#site.post(this.at(resource), object)).is(201);
  }

  /**
   * Leases of these names, one after the other. They stand for any object where a collection is looked at: no cluster puts
   * some of its own into every namespace.
   */
  async leases(...names: readonly string[]): Promise<readonly Answer[]> {
    const created: Answer[] = [];
    for (const name of names) created.push(await this.create("leases", lease(name)));
    return created;
  }

  async empty(): Promise<void> {
    for (const resource of this.#used) await this.#site.delete(this.at(resource), { gracePeriodSeconds: 0 });
  }
}
