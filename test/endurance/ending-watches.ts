import * as resources from "../../agent/api/resources.ts";
import type { ApiRequest, ApiResponse } from "../../simulator/site-api/requests/exchange.ts";
import type { SeededChance } from "../support/load-chance.ts";

/** Duration of each watch in milliseconds. */
const longest = 100;
/** One of this many watches ends with 410 Expired. */
const oneExpires = 100;

const expired = {
  type: "ERROR",
  object: { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Expired", code: 410, message: "too old" },
};

/** A server that ends each watch soon, cleanly or with 410; while paused it ends none. */
export class EndingWatches {
  readonly #chance: SeededChance;
  readonly #open = new Set<() => void>();
  #isOn = false;
  #ended = 0;

  constructor(chance: SeededChance) {
    this.#chance = chance;
  }

  get ended(): number {
    return this.#ended;
  }

  begin(): void {
    this.#isOn = true;
    for (const end of this.#open) end();
  }

  pause(): void {
    this.#isOn = false;
  }

  async around(request: ApiRequest, ask: (request: ApiRequest) => Promise<ApiResponse>): Promise<ApiResponse> {
    const { pathname, searchParams } = new URL(request.path, "http://server");
    if (!searchParams.has("watch")) return ask(request);
    const over = new AbortController();
    const answer = await ask({ ...request, signal: AbortSignal.any([request.signal, over.signal]) });
    if (answer.status !== 200) return answer;
    const bookmark = bookmarkFor(pathname, searchParams.get("resourceVersion") ?? "");
    return { ...answer, body: this.#ending(answer.body, over, bookmark) };
  }

  async *#ending(
    body: AsyncIterable<Uint8Array>,
    over: AbortController,
    bookmark: object,
  ): AsyncGenerator<Uint8Array, void> {
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      timer ??= setTimeout(() => over.abort(), this.#chance.below(longest));
    };
    this.#open.add(end);
    if (this.#isOn) end();
    let pieces = 0;
    try {
      for await (const piece of body) {
        pieces++;
        yield piece;
      }
    } finally {
      this.#open.delete(end);
      clearTimeout(timer);
    }
    if (!over.signal.aborted) return;
    this.#ended++;
    if (this.#chance.below(oneExpires) === 0) yield line(expired);
    // A watch that ends at once without an event counts as a failure.
    else if (pieces === 0) yield line(bookmark);
  }
}

const line = (event: object): Uint8Array => new TextEncoder().encode(`${JSON.stringify(event)}\n`);

function bookmarkFor(pathname: string, resourceVersion: string): object {
  const plural = pathname.slice(pathname.lastIndexOf("/") + 1);
  const known = Object.values(resources).filter((one) => typeof one === "object");
  const resource = known.find((one) => one.plural === plural);
  if (resource === undefined) throw new Error(`a watch of ${pathname}, which is not a collection`);
  const { kind } = resource;
  return {
    type: "BOOKMARK",
    object: { kind, apiVersion: resources.apiVersionOf(resource), metadata: { resourceVersion } },
  };
}
