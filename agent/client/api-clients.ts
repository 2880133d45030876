import type { Ambient } from "../base/ambient.ts";
import type { ApiLink } from "./api-link.ts";
import { KubeClient, type KubeClientParts } from "./kube-client.ts";
import { RequestLimiter, type RequestRate } from "./request-limiter.ts";
import type { HttpRequest } from "./transport.ts";
import { TransportError } from "./transport-error.ts";

export interface ApiClientsParts extends Pick<KubeClientParts, "traffic" | "timeouts" | "userAgent"> {
  readonly link: Pick<ApiLink, "send">;
  /** The API server answered. */
  readonly reached: () => void;
  /** It did not: the connection is lost, or cannot be made. */
  readonly lost: () => void;
}

/** `turn`: resolves when a request may be sent. */
export interface OwnParts extends Pick<KubeClientParts, "permissions"> {
  readonly turn?: (request: HttpRequest) => Promise<void>;
}

/** Makes clients that share one connection and one traffic account; each has its own allowance of requests. */
export const apiClients =
  (ambient: Ambient, { link, reached, lost, ...shared }: ApiClientsParts) =>
  (rate: RequestRate, { turn, ...own }: OwnParts = {}): KubeClient =>
    new KubeClient(ambient, {
      ...shared,
      ...own,
      transport: async (request) => {
        await turn?.(request);
        // A deadline that expired while we waited says nothing about the server.
        request.signal.throwIfAborted();
        try {
          const response = await link.send(request);
          reached();
          return response;
        } catch (error) {
          if (error instanceof TransportError) lost();
          throw error;
        }
      },
      limiter: new RequestLimiter(ambient, rate),
    });
