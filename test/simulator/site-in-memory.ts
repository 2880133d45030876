import type { Ambient } from "../../agent/base/ambient.ts";
import type { SiteExchange, SiteRequest } from "../../simulator/client/exchange.ts";
import { SimulatedApi } from "../scenarios/simulation/simulated-api.ts";

interface Stored {
  metadata: Record<string, unknown> & { name: string; uid: string };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const inDefault = "namespaces/default";
const paths = {
  nodes: "/api/v1/nodes",
  pods: `/api/v1/${inDefault}/pods`,
  services: `/api/v1/${inDefault}/services`,
  replicasets: `/apis/apps/v1/${inDefault}/replicasets`,
  daemonsets: `/apis/apps/v1/${inDefault}/daemonsets`,
  controllerrevisions: `/apis/apps/v1/${inDefault}/controllerrevisions`,
  leases: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
};

export type Collection = keyof typeof paths;

/** The embedded API as a function, where a test reads at once and writes at once, as kubectl or a controller would. */
export class SiteInMemory {
  readonly requests: string[] = [];
  readonly #api: SimulatedApi;

  constructor(ambient: Ambient) {
    this.#api = new SimulatedApi(ambient);
  }

  readonly exchange: SiteExchange = async (request) => {
    this.requests.push(`${request.method} ${request.path.split("?")[0]}`);
    return this.#api.handle(request);
  };

  create(collection: Collection, object: object): Stored {
    this.#send("POST", paths[collection], object);
    const { metadata } = object as Stored;
    const created = this.read(collection, metadata.name);
    if (!created) throw new Error(`there is no ${collection} ${metadata.name}`);
    return created;
  }

  /** Replaces the object and its status with what `change` makes of them. */
  write(collection: Collection, name: string, change: (object: Stored) => void): void {
    const object = this.read(collection, name);
    if (!object) throw new Error(`there is no ${collection} ${name}`);
    change(object);
    delete object.metadata.resourceVersion;
    this.#send("PUT", `${paths[collection]}/${name}`, object);
    if (object.status) this.#send("PUT", `${paths[collection]}/${name}/status`, object);
  }

  /** A pod on a board is only asked to leave. */
  delete(collection: Collection, name: string): void {
    this.#send("DELETE", `${paths[collection]}/${name}`);
  }

  /** Without grace. */
  remove(collection: Collection, name: string): void {
    this.#send("DELETE", `${paths[collection]}/${name}?gracePeriodSeconds=0`);
  }

  read(collection: Collection, name: string): Stored | undefined {
    return this.all(collection).find(({ metadata }) => metadata.name === name);
  }

  all(collection: Collection): readonly Stored[] {
    return this.#api.all(`${collection}/`).map((text) => JSON.parse(text));
  }

  close(): void {
    this.#api.close();
  }

  #send(method: string, path: string, body?: object): void {
    const { status } = this.#api.handle({
      method,
      path,
      headers: { "content-type": "application/json", accept: "application/json" },
      ...(body && { body: JSON.stringify(body) }),
      signal: new AbortController().signal,
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${status}`);
  }
}
/** A link that can be cut: what is sent meanwhile waits for it to be whole again, or for its own time-out. */
export class SiteLink {
  readonly #exchange: SiteExchange;
  readonly #waiting = new Set<() => void>();
  isCut = false;

  constructor(exchange: SiteExchange) {
    this.#exchange = exchange;
  }

  readonly exchange: SiteExchange = async (request) => {
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
