import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import { type Clock, elapsed, type Millis } from "../base/clock.ts";
import type { ListOptions, ListResult, PageInLine } from "../client/kube-client.ts";

export interface ListingClient {
  list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
    signal: AbortSignal,
    inLine?: PageInLine,
  ): Promise<ListResult>;
}

export interface PagesDeps<T extends KubeObject> {
  readonly client: ListingClient;
  readonly resource: Resource<T>;
  /** The options of the request for a continue token; undefined for the first page. */
  readonly options: (token: string | undefined) => ListOptions;
  readonly each: (object: T) => void;
}

/** A page that was requested. */
interface RequestedPage {
  readonly token: string | undefined;
  readonly answer: Promise<ListResult>;
  /** Lets the response be read from the connection. */
  readonly startReading: () => void;
}

/**
 * If a page takes longer, the next one is not requested in advance, because one request keeps the link or the server
 * busy enough.
 */
const quickly: Millis = 5000;

/**
 * The pages of one list, in order. If a page arrives quickly, the next one is requested while it is still being read:
 * its continue token arrives first, so the server can prepare the next page in the meantime. The next response is not
 * read before its turn, so at most one receive window of it is in memory.
 */
export class Pages<T extends KubeObject> {
  readonly #clock: Clock;
  readonly #deps: PagesDeps<T>;
  /** Whether the last page arrived quickly. */
  #isQuick = false;
  /** The page that was requested ahead. */
  #ahead: RequestedPage | undefined;

  constructor(clock: Clock, deps: PagesDeps<T>) {
    this.#clock = clock;
    this.#deps = deps;
  }

  /**
   * Reads the page for a token, and returns after `each` has been called for all its objects. A caller that stops
   * before the last page must abort the signal.
   */
  async take(token: string | undefined, signal: AbortSignal): Promise<ListResult> {
    const begun = this.#clock.now();
    const ahead = this.#ahead;
    this.#ahead = undefined;
    const requested = ahead && ahead.token === token ? ahead : this.#request(token, signal);
    requested.startReading();
    const page = await requested.answer;
    this.#isQuick = elapsed(begun, this.#clock.now()) < quickly;
    return page;
  }

  #request(token: string | undefined, signal: AbortSignal): RequestedPage {
    const { client, resource, options, each } = this.#deps;
    const turn = Promise.withResolvers<void>();
    const onContinue = (next: string): void => {
      if (this.#isQuick && next !== token) this.#ahead ??= this.#request(next, signal);
    };
    signal.addEventListener("abort", () => turn.resolve(), { once: true });
    const answer = client.list(resource, options(token), each, signal, { turn: turn.promise, onContinue });
    // An error in a page requested in advance is thrown only if that page is taken.
    answer.catch(() => {});
    return { token, answer, startReading: turn.resolve };
  }
}
