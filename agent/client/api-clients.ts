import type { Ambient } from "../base/ambient.ts";
import type { ApiLink } from "./api-link.ts";
import { KubeClient, type KubeClientDeps } from "./kube-client.ts";
import { RequestLimiter, type RequestRate } from "./request-limiter.ts";
import type { HttpRequest, HttpResponse } from "./transport/transport.ts";
import { TransportError } from "./transport/transport-error.ts";

export interface ApiClientsDeps extends Pick<KubeClientDeps, "traffic" | "timeouts" | "userAgent"> {
  readonly link: Pick<ApiLink, "send">;
  /** The API server responded. */
  readonly reached: () => void;
}

/** Options of one client. `turn`: called before each request, which waits until the promise resolves. */
export interface OwnClientOptions extends Pick<KubeClientDeps, "permissions" | "failing"> {
  readonly turn?: (request: HttpRequest) => Promise<void>;
}

/** Creates clients that share one connection and its traffic counters; each has its own rate limit. */
export class ApiClients {
  readonly #ambient: Ambient;
  readonly #deps: ApiClientsDeps;
  readonly #lost: (() => void)[] = [];

  constructor(ambient: Ambient, deps: ApiClientsDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** The listener is called after each request without a response from the API server. */
  onLost(listener: () => void): void {
    this.#lost.push(listener);
  }

  client(rate: RequestRate, { turn, ...own }: OwnClientOptions = {}): KubeClient {
    const { traffic, timeouts, userAgent } = this.#deps;
    return new KubeClient(this.#ambient, {
      traffic,
      timeouts,
      userAgent,
      ...own,
      transport: async (request) => {
        await turn?.(request);
        // If the deadline expired during the wait, the request must fail here, because it must not count as a request
        // without a response.
        request.signal.throwIfAborted();
        return this.#send(request);
      },
      limiter: new RequestLimiter(this.#ambient, rate),
    });
  }

  async #send(request: HttpRequest): Promise<HttpResponse> {
    const { link, reached } = this.#deps;
    try {
      const response = await link.send(request);
      reached();
      return response;
    } catch (error) {
      if (error instanceof TransportError) for (const listener of this.#lost) listener();
      throw error;
    }
  }
}
