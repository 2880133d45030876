import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { WatchOptions } from "../client/kube-client.ts";
import type { WatchEvent } from "../client/watch-stream.ts";
import type { ListingClient } from "./pages.ts";

/** The part of the KubeClient that a Reflector uses. */
export interface ReflectorClient extends ListingClient {
  watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent<T>>>;
}

/** The part of the KubeClient that informers use. */
export interface InformerClient extends ReflectorClient {
  get<T extends KubeObject>(
    resource: Resource<T>,
    at: { readonly namespace?: string | undefined; readonly name: string; readonly metadataOnly?: boolean },
    signal: AbortSignal,
  ): Promise<T>;
}
