import type { Ambient } from "../base/ambient.ts";
import { KubeClient, type KubeClientParts } from "../client/kube-client.ts";
import { RequestLimiter, type RequestRate } from "../client/request-limiter.ts";
import type { ApiLink } from "./api-link.ts";

export interface ApiClientsParts extends Pick<KubeClientParts, "traffic" | "timeouts" | "userAgent"> {
  readonly link: Pick<ApiLink, "send">;
  /** The API server answered. */
  readonly reached: () => void;
}

/** `turn`: resolves when a request may be sent. */
export interface OwnParts extends Pick<KubeClientParts, "permissions"> {
  readonly turn?: (signal: AbortSignal) => Promise<void>;
}

/** Makes clients that share one connection and one account of bytes; each has an allowance of its own. */
export const apiClients =
  (ambient: Ambient, { link, reached, ...shared }: ApiClientsParts) =>
  (rate: RequestRate, { turn, ...own }: OwnParts = {}): KubeClient =>
    new KubeClient(ambient, {
      ...shared,
      ...own,
      transport: async (request) => {
        await turn?.(request.signal);
        // A deadline that ran out in a wait of ours says nothing of the server.
        request.signal.throwIfAborted();
        const response = await link.send(request);
        reached();
        return response;
      },
      limiter: new RequestLimiter(ambient, rate),
    });
