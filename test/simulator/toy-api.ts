import type { Exchange, SiteRequest, SiteResponse } from "../../simulator/exchange.ts";

interface Stored {
  apiVersion?: string;
  kind?: string;
  metadata: Record<string, unknown> & { name: string; uid: string; resourceVersion: string };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

interface Written {
  readonly revision: number;
  readonly key: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Stored;
  readonly before: Stored | undefined;
}

/**
 * As much of an API server as kubelets, scheduler and workload keeper need, in memory and at once: so that their tests are
 * about them. What they do with a real answer is seen in the scenarios.
 */
export class ToyApi {
  readonly objects = new Map<string, Stored>();
  readonly requests: string[] = [];
  readonly #history: Written[] = [];
  readonly #watchers = new Set<() => void>();
  #revision = 0;

  readonly exchange: Exchange = async (request) => {
    this.requests.push(`${request.method} ${request.path.split("?")[0]}`);
    const url = new URL(request.path, "http://toy");
    const { collection, name, subresource } = placeOf(url.pathname);
    const body = request.body === undefined ? undefined : JSON.parse(request.body);
    const key = `${collection}/${name}`;
    if (request.method === "GET" && url.searchParams.get("watch")) return this.#watch(collection, url, request.signal);
    if (request.method === "GET" && name === undefined) return this.#list(collection, url);
    if (request.method === "POST" && subresource === "binding") return this.#bind(key, body);
    if (request.method === "POST") return this.#create(collection, body);
    const found = this.objects.get(key);
    if (!found) return answer(404, { reason: "NotFound", message: key });
    if (request.method === "GET") return answer(200, found);
    if (request.method === "DELETE") return this.#delete(key, found, body);
    return this.#patch(key, found, body);
  };

  /** Somebody else writes: kubectl, or a controller. */
  write(collection: string, name: string, change: (object: Stored) => void): void {
    const key = `${collection}/${name}`;
    const found = this.objects.get(key);
    if (!found) throw new Error(`there is no ${key}`);
    const copy = structuredClone(found);
    change(copy);
    this.#store(key, copy, "MODIFIED");
  }

  create(collection: string, object: object): Stored {
    const { metadata, ...rest } = structuredClone(object) as Stored;
    const uid = metadata.uid ?? `uid-${this.#revision + 1}`;
    const created: Stored = { ...rest, metadata: { ...metadata, uid, resourceVersion: "" } };
    this.#store(`${collection}/${metadata.name}`, created, "ADDED");
    return created;
  }

  remove(collection: string, name: string): void {
    const key = `${collection}/${name}`;
    const found = this.objects.get(key);
    if (!found) throw new Error(`there is no ${key}`);
    this.#store(key, found, "DELETED");
  }

  read(collection: string, name: string): Stored | undefined {
    return this.objects.get(`${collection}/${name}`);
  }

  #create(collection: string, body: Stored): SiteResponse {
    if (this.objects.has(`${collection}/${body.metadata.name}`)) return answer(409, { reason: "AlreadyExists" });
    return answer(201, this.create(collection, body));
  }

  #patch(key: string, found: Stored, patch: Partial<Stored>): SiteResponse {
    if (patch.metadata?.uid !== undefined && patch.metadata.uid !== found.metadata.uid) {
      return answer(409, { reason: "Conflict" });
    }
    const copy = structuredClone(found);
    const { conditions, ...status } = patch.status ?? {};
    copy.spec = { ...copy.spec, ...patch.spec };
    copy.status = { ...copy.status, ...status };
    if (Array.isArray(conditions)) copy.status.conditions = mergedByType(copy.status.conditions, conditions);
    this.#store(key, copy, "MODIFIED");
    return answer(200, copy);
  }

  #delete(key: string, found: Stored, body: Record<string, unknown>): SiteResponse {
    const { uid } = (body.preconditions ?? {}) as { uid?: string };
    if (uid !== undefined && uid !== found.metadata.uid) return answer(409, { reason: "Conflict" });
    if (body.gracePeriodSeconds === 0 || !found.spec?.nodeName) {
      this.#store(key, found, "DELETED");
    } else {
      const copy = structuredClone(found);
      Object.assign(copy.metadata, { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 30 });
      this.#store(key, copy, "MODIFIED");
    }
    return answer(200, found);
  }

  #bind(key: string, { target }: { target: { name: string } }): SiteResponse {
    const found = this.objects.get(key);
    if (!found) return answer(404, { reason: "NotFound" });
    this.#store(key, { ...found, spec: { ...found.spec, nodeName: target.name } }, "MODIFIED");
    return answer(201, { status: "Success" });
  }

  #list(collection: string, url: URL): SiteResponse {
    const selects = selectorOf(url);
    const items = [...this.objects].filter(([key, object]) => inside(key, collection) && selects(object));
    return answer(200, {
      metadata: { resourceVersion: String(this.#revision) },
      items: items.map(([, object]) => object),
    });
  }

  #watch(collection: string, url: URL, signal: AbortSignal): SiteResponse {
    const selects = selectorOf(url);
    const history = this.#history;
    const watchers = this.#watchers;
    let position = Number(url.searchParams.get("resourceVersion"));
    const body = (async function* () {
      for (;;) {
        signal.throwIfAborted();
        const next = history.find(({ revision }) => revision > position);
        if (next === undefined) {
          await new Promise<void>((resolve) => {
            watchers.add(resolve);
            signal.addEventListener("abort", () => resolve(), { once: true });
          });
          continue;
        }
        position = next.revision;
        if (!inside(next.key, collection) || !selects(next.object)) continue;
        const appeared = next.type === "MODIFIED" && next.before && !selects(next.before);
        const type = appeared ? "ADDED" : next.type;
        yield new TextEncoder().encode(`${JSON.stringify({ type, object: next.object })}\n`);
      }
    })();
    return { status: 200, body };
  }

  #store(key: string, object: Stored, type: Written["type"]): void {
    const before = this.objects.get(key);
    const revision = ++this.#revision;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
    if (type === "DELETED") this.objects.delete(key);
    else this.objects.set(key, stored);
    this.#history.push({ revision, key, type, object: stored, before });
    for (const wake of this.#watchers) wake();
    this.#watchers.clear();
  }
}

function placeOf(path: string): { collection: string; name?: string; subresource?: string } {
  const parts = path.split("/").filter(Boolean);
  const rest = parts.slice(parts[0] === "api" ? 2 : 3);
  if (rest[0] === "namespaces" && rest.length > 2) rest.splice(0, 2);
  const [collection = "", name, subresource] = rest;
  return { collection, ...(name !== undefined && { name }), ...(subresource !== undefined && { subresource }) };
}

const inside = (key: string, collection: string): boolean => key.startsWith(`${collection}/`);

function selectorOf(url: URL): (object: Stored) => boolean {
  const [field, value] = (url.searchParams.get("fieldSelector") ?? "").split("=");
  if (field === "metadata.name") return ({ metadata }) => metadata.name === value;
  if (field === "spec.nodeName") return ({ spec }) => spec?.nodeName === value;
  return () => true;
}

function mergedByType(before: unknown, patch: readonly { type: string }[]): unknown[] {
  const merged = new Map((Array.isArray(before) ? before : []).map((one) => [one.type, one]));
  for (const one of patch) {
    const whole = { ...merged.get(one.type), ...one };
    merged.set(one.type, Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== null)));
  }
  return [...merged.values()];
}

const answer = (status: number, value: object): SiteResponse => ({
  status,
  body: (async function* () {
    yield new TextEncoder().encode(JSON.stringify(value));
  })(),
});

/** A link that can be cut: what is sent meanwhile waits for it to be whole again, or for its own time-out. */
export class ToyLink {
  readonly #exchange: Exchange;
  readonly #waiting = new Set<() => void>();
  isCut = false;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  readonly exchange: Exchange = async (request) => {
    await this.#passes(request);
    const response = await this.#exchange(request);
    return { status: response.status, body: this.#through(request, response.body) };
  };

  restore(): void {
    this.isCut = false;
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }

  async *#through(request: SiteRequest, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      await this.#passes(request);
      yield chunk;
    }
  }

  #passes({ signal }: SiteRequest): Promise<void> {
    if (!this.isCut) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }
}
