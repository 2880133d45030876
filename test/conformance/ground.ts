import { randomBytes } from "node:crypto";
import { itemsAt, type JsonObject, type JsonValue, textAt } from "../../agent/api/json.ts";
import { Answer } from "./answer.ts";
import { type Asked, Client, type Query } from "./client.ts";
import { at, lease, mergePatch } from "./objects.ts";
import type { Target } from "./target.ts";
import { NotChecked, Unmet } from "./unmet.ts";
import type { WatchStream } from "./watch-stream.ts";

/** The environment of one rule: the server, its own namespaces and names, and their cleanup. */
export class Ground {
  readonly client: Client;
  readonly target: Target;
  /** How long an expected event may take. */
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

  /** Opens a stream of events; throws if it is refused. */
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

  /** A unique name for a cluster-scoped object. */
  name(): string {
    return `conformance-${this.#rule}-${randomBytes(4).toString("hex")}`.slice(0, 63);
  }

  /** Creates a namespace for this rule. */
  async space(): Promise<Space> {
    const name = this.name();
    await this.make("namespaces", { kind: "Namespace", apiVersion: "v1", metadata: { name } });
    const space = new Space(this, name);
    // Also on a server without a namespace controller.
    this.afterwards(() => space.empty());
    return space;
  }

  /** Creates a cluster-scoped object that is deleted after the rule. */
  async make(resource: string, object: JsonObject & { readonly metadata: JsonObject }): Promise<Answer> {
    const path = at(resource, undefined, String(object.metadata.name));
    this.afterwards(() => this.remove(path));
    return (await this.post(at(resource), object)).is(201);
  }

  /** Cleanup after the rule, whatever its outcome; the last one runs first. */
  afterwards(undo: () => Promise<unknown>): void {
    this.#made.push(undo);
  }

  /** Compacts the server's history. A rule that needs this is not checked on a server that cannot do it. */
  async compact(): Promise<void> {
    if (this.target.compact === undefined) throw new NotChecked("this server's history cannot be compacted on request");
    await this.target.compact();
  }

  /** Ends watches and deletes the created objects. Never throws, so that the rule's result is kept. */
  async clear(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    for (const undo of this.#made.reverse()) await undo().catch(() => undefined);
    this.client.close();
  }

  /** Deletes at once, without waiting for finalizers or grace periods. */
  async remove(path: string): Promise<void> {
    await this.patch(path, { metadata: { finalizers: null } });
    await this.delete(path, { gracePeriodSeconds: 0 });
  }
}

/** A namespace of one rule. */
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
    // No controller removes these finalizers, and the namespace could not be deleted.
    const stays = resource === "pods" || itemsAt(object, "metadata", "finalizers").length > 0;
    if (stays) this.#site.afterwards(() => this.#site.remove(this.at(resource, name)));
    return (await this.#site.post(this.at(resource), object)).is(201);
  }

  /**
   * Creates Leases of these names, one after the other. They represent any kind in rules about collections: no cluster creates
   * Leases in every namespace.
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
