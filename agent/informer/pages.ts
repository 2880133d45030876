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
  /** What is asked for behind a token, or at the beginning. */
  readonly options: (token: string | undefined) => ListOptions;
  readonly each: (object: T) => void;
}

interface Asked {
  readonly token: string | undefined;
  readonly answer: Promise<ListResult>;
  readonly haveItsTurn: () => void;
}

/** A page that takes longer shows a link, or a server, that has enough to do with one. */
const quickly: Millis = 5000;

/**
 * The pages of one list, in their order. Where they come quickly, the server prepares the next one while this one is
 * taken in: a page says at its beginning where it goes on. Its answer waits on the connection until its turn, so that at
 * most one window of it is in memory.
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

  /** The page behind a token, once all of its objects were handed out. Whoever stops before the end aborts the signal. */
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
    // What becomes of a page that is asked for ahead is looked at when its turn comes, or never.
    answer.catch(() => {});
    return { token, answer, haveItsTurn: turn.resolve };
  }
}
