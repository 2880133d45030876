import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { itemsAt, type JsonObject, type JsonValue, textAt } from "../../../agent/api/json.ts";
import { SiteApi } from "../../../simulator/site-api/site-api.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: JsonObject;
}

export interface Asked {
  readonly type?: string;
  readonly accept?: string;
}

export const merge = "application/merge-patch+json";
export const strategic = "application/strategic-merge-patch+json";
export const jsonPatch = "application/json-patch+json";
export const table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
export const partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";

export const pods = "/api/v1/namespaces/default/pods";
export const configMaps = "/api/v1/namespaces/default/configmaps";

/** A site that is asked by function calls, on a clock of its own. */
export class TestSite {
  readonly clock = new FakeClock();
  readonly log = new RecordingLog();
  readonly random = new SeededRandom(7);
  readonly file: string;
  api: SiteApi;
  #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(file = ":memory:") {
    this.file = file;
    this.api = this.#open();
  }

  /** One that can be restarted. */
  static onDisk(): TestSite {
    return new TestSite(path.join(mkdtempSync(path.join(tmpdir(), "site-api-")), "site.db"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    if (this.file !== ":memory:") rmSync(path.dirname(this.file), { recursive: true });
  }

  /** Starts the upkeep: compaction, emptying of namespaces. */
  run(): void {
    this.#running = this.api.run(this.#stop.signal);
  }

  async restart(): Promise<void> {
    await this.#close();
    this.api = this.#open();
  }

  async ask(method: string, at: string, body?: JsonValue, { type, accept }: Asked = {}): Promise<Answer> {
    const headers = { ...(type !== undefined && { "content-type": type }), ...(accept !== undefined && { accept }) };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const signal = new AbortController().signal;
    const request = { method, path: at, headers, signal, ...(body !== undefined && { body: text }) };
    const response = await this.api.handle(request);
    const answered = (await partsOf(response.body)).join("");
    return { ...response, text: answered, body: answered.startsWith("{") ? JSON.parse(answered) : {} };
  }

  get(at: string, accept?: string): Promise<Answer> {
    return this.ask("GET", at, undefined, accept === undefined ? {} : { accept });
  }

  /** Creates it, and fails the test where that does not work. */
  async create(at: string, object: JsonObject): Promise<JsonObject> {
    const answer = await this.ask("POST", at, object);
    if (answer.status !== 201) throw new Error(`POST ${at}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  watch(at: string, accept?: string): Promise<WatchReader> {
    return WatchReader.open(this, at, accept);
  }

  async #close(): Promise<void> {
    this.#stop.abort(new Error("the server is stopped"));
    await this.#running;
    this.#stop = new AbortController();
    await this.api.close();
  }

  #open(): SiteApi {
    return new SiteApi({ clock: this.clock, random: this.random, log: this.log }, { file: this.file });
  }
}

export interface Event {
  readonly type: string;
  readonly object: JsonObject & { readonly metadata: JsonObject };
}

/** Reads a watch as it comes; what was read is waiting in `events`. */
export class WatchReader {
  readonly #site: TestSite;
  readonly #stop = new AbortController();
  readonly events: Event[] = [];
  ended = false;

  private constructor(site: TestSite) {
    this.#site = site;
  }

  static async open(site: TestSite, at: string, accept = "application/json"): Promise<WatchReader> {
    const reader = new WatchReader(site);
    const request = { method: "GET", path: at, headers: { accept }, signal: reader.#stop.signal };
    const response = await site.api.handle(request);
    if (response.status !== 200) throw new Error(`GET ${at}: ${response.status}`);
    void reader.#read(response.body);
    await site.clock.settle();
    return reader;
  }

  /** The events since the last time, as "TYPE name". */
  async newEvents(): Promise<string[]> {
    await this.#site.clock.settle();
    return this.events
      .splice(0)
      .map(({ type, object }) => `${type} ${object.metadata.name ?? object.metadata.resourceVersion ?? ""}`.trim());
  }

  async next(): Promise<Event> {
    await this.#site.clock.settle();
    const event = this.events.shift();
    if (event === undefined) throw new Error("there is no further event");
    return event;
  }

  close(): void {
    this.#stop.abort(new Error("the reader went away"));
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    let rest = "";
    for await (const chunk of body) {
      const lines = (rest + Buffer.from(chunk).toString()).split("\n");
      rest = lines.pop() ?? "";
      this.events.push(...lines.map((line) => JSON.parse(line)));
    }
    this.ended = true;
  }
}

export const pod = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "main", image: "busybox:1" }], ...spec },
});

export const configMap = (name: string, metadata: JsonObject = {}, data: JsonObject = {}): JsonObject => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name, ...metadata },
  data,
});

export const node = (name: string, more: JsonObject = {}): JsonObject => ({
  kind: "Node",
  apiVersion: "v1",
  metadata: { name },
  ...more,
});

/** The texts that a body is sent in. */
export async function partsOf(body: AsyncIterable<Uint8Array>): Promise<string[]> {
  const parts: string[] = [];
  for await (const part of body) parts.push(Buffer.from(part).toString());
  return parts;
}

/** The part of a Status that programs look at. */
export const failureOf = ({ status, body }: Answer): string => `${status} ${String(body.reason)}`;

/** The cells of the only row of a table, by the name of their column. */
export async function row(site: TestSite, path: string): Promise<Record<string, unknown>> {
  const { body } = await site.get(path, table);
  const names = itemsAt(body, "columnDefinitions").map((column) => textAt(column, "name"));
  const cells = itemsAt(itemsAt(body, "rows")[0], "cells");
  return Object.fromEntries(names.map((name, i) => [name, cells[i]]));
}
