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
export const eventText = (event: Event): string => `${event.type} ${nameOf(event)}`;

/** A raw watch. A line that is not an event breaks the rule. */
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

  /** The events since the last call. */
  get waiting(): readonly Event[] {
    return this.#waiting;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The next event; throws at a timeout or at the end of the stream. */
  async next(expected = "a further event", patience = this.#patience): Promise<Event> {
    const came = await this.#until(() => this.#waiting.length > 0 || this.#ended, patience);
    if (this.#broken !== undefined) throw new Unmet(this.request, "one event of JSON in each line", this.#broken);
    const event = this.#waiting.shift();
    if (event !== undefined) return event;
    const why = came ? "the stream ended" : `nothing within ${patience / 1000} s`;
    throw new Unmet(this.request, expected, `${why}; before that: ${shown(this.#seen)}`);
  }

  /** The events up to and including the first match. */
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
    while (all.length < count) all.push(eventText(await this.next(`${count} events, got ${shown(all)}`)));
    return all;
  }

  /** Waits for the end of the stream; returns the events until then. */
  async end(patience = this.#patience): Promise<readonly Event[]> {
    const came = await this.#until(() => this.#ended, patience);
    holds(this.request, "the end of the stream", `it continues after ${patience / 1000} s: ${shown(this.#seen)}`, came);
    return this.#waiting.splice(0);
  }

  /** Breaks the connection, like a lost link. */
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
    this.#seen.push(eventText(event));
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
