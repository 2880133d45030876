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

export interface PagesParts<T extends KubeObject> {
  readonly client: ListingClient;
  readonly resource: Resource<T>;
  /** The options of the request for a continue token; undefined for the first page. */
  readonly options: (token: string | undefined) => ListOptions;
  readonly each: (object: T) => void;
}

interface Asked {
  readonly token: string | undefined;
  readonly answer: Promise<ListResult>;
  readonly haveItsTurn: () => void;
}

/** A slower page shows that the link or the server is busy enough with one. */
const quickly: Millis = 5000;

/**
 * The pages of one list, in order. If they arrive quickly, the server prepares the next one while this one is
 * processed: a page has its continue token at the beginning. The next answer waits on the connection for its turn, so
 * at most one window of it is in memory.
 */
export class Pages<T extends KubeObject> {
  readonly #clock: Clock;
  readonly #parts: PagesParts<T>;
  #isQuick = false;
  #ahead: Asked | undefined;

  constructor(clock: Clock, parts: PagesParts<T>) {
    this.#clock = clock;
    this.#parts = parts;
  }

  /**
   * Returns the page for a token after handing out all of its objects. A caller that stops early must abort the signal.
   */
  async take(token: string | undefined, signal: AbortSignal): Promise<ListResult> {
    const begun = this.#clock.now();
    const asked = this.#ahead?.token === token && this.#ahead !== undefined ? this.#ahead : this.#ask(token, signal);
    this.#ahead = undefined;
    asked.haveItsTurn();
    const page = await asked.answer;
    this.#isQuick = elapsed(begun, this.#clock.now()) < quickly;
    return page;
  }

  #ask(token: string | undefined, signal: AbortSignal): Asked {
    const { client, resource, options, each } = this.#parts;
    const turn = Promise.withResolvers<void>();
    const goesOn = (next: string): void => {
      if (this.#isQuick && next !== token) this.#ahead ??= this.#ask(next, signal);
    };
    signal.addEventListener("abort", () => turn.resolve(), { once: true });
    const answer = client.list(resource, options(token), each, signal, { turn: turn.promise, goesOn });
    // The outcome of a prefetched page is read when its turn comes, or never.
    answer.catch(() => {});
    return { token, answer, haveItsTurn: turn.resolve };
  }
}
