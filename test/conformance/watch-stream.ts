import type { Readable } from "node:stream";
import { isJsonObject, type JsonObject, type JsonValue, textAt } from "../../agent/api/json.ts";
import { holds, shown, Unmet } from "./unmet.ts";

export interface Event {
  readonly type: string;
  readonly object: JsonObject;
}

export const nameOf = ({ object }: Event): string => textAt(object, "metadata", "name");
export const versionOf = ({ object }: Event): string => textAt(object, "metadata", "resourceVersion");
/** "ADDED one". */
export const told = (event: Event): string => `${event.type} ${nameOf(event)}`;

/** A watch as it comes. Nothing is mended: a line that is no event is a rule that is not met. */
export class WatchStream {
  readonly request: string;
  readonly #patience: number;
  readonly #destroy: () => void;
  readonly #waiting: Event[] = [];
  readonly #seen: string[] = [];
  #broken: string | undefined;
  #ended = false;
  #wake: () => void = () => undefined;

  constructor(request: string, stream: Readable, destroy: () => void, patience: number) {
    this.request = request;
    this.#patience = patience;
    this.#destroy = destroy;
    let rest = "";
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#take(line);
      this.#wake();
    });
    const end = (): void => {
      if (rest.trim() !== "") this.#take(rest);
      rest = "";
      this.#ended = true;
      this.#wake();
    };
    stream.on("end", end).on("close", end).on("error", end);
  }

  /** What came since the last look. */
  get waiting(): readonly Event[] {
    return this.#waiting;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The next event; throws where none comes in time, or the stream ends. */
  async next(expected = "a further event", patience = this.#patience): Promise<Event> {
    const came = await this.#until(() => this.#waiting.length > 0 || this.#ended, patience);
    if (this.#broken !== undefined) throw new Unmet(this.request, "one event of JSON in each line", this.#broken);
    const event = this.#waiting.shift();
    if (event !== undefined) return event;
    const why = came ? "the stream ended" : `nothing within ${patience / 1000} s`;
    throw new Unmet(this.request, expected, `${why}; before that: ${shown(this.#seen)}`);
  }

  /** The events up to and with the first one that fits. */
  async upTo(fits: (event: Event) => boolean, expected: string, patience?: number): Promise<readonly Event[]> {
    const events: Event[] = [];
    for (;;) {
      const event = await this.next(expected, patience);
      events.push(event);
      if (fits(event)) return events;
      const isError = event.type === "ERROR";
      holds(this.request, expected, event, !isError);
    }
  }

  /** The next `count` events as "TYPE name". */
  async tells(count: number): Promise<readonly string[]> {
    const all: string[] = [];
    while (all.length < count) all.push(told(await this.next(`${count} events, of which came ${shown(all)}`)));
    return all;
  }

  /** Waits for the end of the stream; yields what came until then. */
  async end(patience = this.#patience): Promise<readonly Event[]> {
    const came = await this.#until(() => this.#ended, patience);
    holds(this.request, "the end of the stream", `it goes on after ${patience / 1000} s: ${shown(this.#seen)}`, came);
    return this.#waiting.splice(0);
  }

  /** As when the link is lost. */
  close(): void {
    this.#destroy();
  }

  #take(line: string): void {
    const value = parsed(line);
    const type = textAt(value, "type");
    const object = isJsonObject(value) ? value.object : undefined;
    if (type === "" || !isJsonObject(object)) {
      this.#broken ??= shown(line);
      return;
    }
    const event = { type, object };
    this.#waiting.push(event);
    this.#seen.push(told(event));
  }

  #until(holdsNow: () => boolean, patience: number): Promise<boolean> {
    if (holdsNow()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        this.#wake = () => undefined;
        resolve(false);
      }, patience);
      this.#wake = () => {
        if (!holdsNow()) return;
        clearTimeout(late);
        this.#wake = () => undefined;
        resolve(true);
      };
    });
  }
}

function parsed(line: string): JsonValue | undefined {
  try {
    return JSON.parse(line) as JsonValue;
  } catch {
    return undefined;
  }
}
