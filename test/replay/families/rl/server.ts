import { type Clock, deadline, type Millis, sleep } from "../../../../agent/base/clock.ts";
import type { HttpRequest, HttpResponse, Transport } from "../../../../agent/client/transport/transport.ts";
import { TransportError } from "../../../../agent/client/transport/transport-error.ts";
import { MalformedCase } from "../../malformed.ts";
import { type Failure, refusalOf, statusOf, wireList, wireObject } from "./answers.ts";
import type { Config, Failing, WatchAnswer, WatchEvent } from "./forms.ts";
import type { Page, Script } from "./script.ts";
import { WatchStream } from "./watch-stream.ts";

export interface Request {
  readonly atMs: Millis;
  readonly verb: "LIST" | "WATCH";
  /** "": none was sent. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string | undefined;
  readonly limit: number | undefined;
  readonly continue: string | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly allowWatchBookmarks: boolean | undefined;
  readonly metadataOnly: boolean | undefined;
  answer: string;
}

const usualBookmarks: Millis = 60_000;

/** An API server that answers according to the case's script. */
export class ScriptedServer {
  readonly requests: Request[] = [];
  readonly #clock: Clock;
  readonly #script: Script;
  readonly #bookmarkEvery: Millis;
  #open: { readonly stream: WatchStream; version: string } | undefined;

  constructor(clock: Clock, script: Script, { bookmarkEveryMs = usualBookmarks }: Config) {
    this.#clock = clock;
    this.#script = script;
    this.#bookmarkEvery = bookmarkEveryMs;
  }

  readonly send: Transport = async (request) => {
    const bound = deadline(
      this.#clock,
      request.timeout ?? 30_000,
      request.signal,
      () => new TransportError("Timeout", "no answer in time"),
    );
    try {
      bound.signal.throwIfAborted();
      request.guard?.();
      const shown = this.#show(request);
      this.requests.push(shown);
      return shown.verb === "WATCH"
        ? await this.#watch(request, shown, bound.signal)
        : await this.#list(shown, bound.signal);
    } finally {
      bound.dispose();
    }
  };

  /** The watch that is open says this. */
  say(events: readonly WatchEvent[]): void {
    const open = this.#open;
    if (!open?.stream.isOpen) throw new MalformedCase(["no watch is open at that time, to say anything"]);
    this.#tell(open, events);
  }

  end(how: "close" | "reset"): void {
    this.#open?.stream.end(how === "reset" ? reset() : undefined);
  }

  async #list(shown: Request, signal: AbortSignal): Promise<HttpResponse> {
    const page: Page = this.#script.nextList();
    await this.#takeTime(page.takesMs, signal);
    if ("error" in page) return this.#refuse(page, shown, signal);
    const { items, resourceVersion, continue: token, cutShort, raw } = page;
    shown.answer =
      raw !== undefined ? "raw" : `${items.length} objects at ${resourceVersion}${token === undefined ? "" : ", more"}`;
    const text = raw ?? wireList(items, { resourceVersion, ...(token !== undefined && { continue: token }) });
    return { status: 200, headers: {}, body: bytes(cutShort ? text.slice(0, text.length / 2) : text) };
  }

  async #watch(request: HttpRequest, shown: Request, signal: AbortSignal): Promise<HttpResponse> {
    const answer = this.#script.nextWatch();
    await this.#takeTime(answer.takesMs, signal);
    if ("error" in answer) return this.#refuse(answer, shown, signal);
    shown.answer = "ok";
    const stream = new WatchStream();
    const open = { stream, version: shown.resourceVersion };
    this.#open = open;
    request.signal.addEventListener("abort", () => stream.end(request.signal.reason), { once: true });
    this.#tell(open, answer.events ?? []);
    this.#endLater(stream, answer, (shown.timeoutSeconds ?? 300) * 1000);
    if (answer.bookmarks !== false && this.#bookmarkEvery > 0) this.#bookmark(open);
    return { status: 200, headers: {}, body: stream };
  }

  #tell(open: { readonly stream: WatchStream; version: string }, events: readonly WatchEvent[]): void {
    for (const event of events) {
      const tell = (): void => {
        const version = versionOf(event);
        if (version !== undefined && open.stream.isOpen) open.version = version;
        open.stream.say(`${lineOf(event)}\n`);
        if (event.type === "ERROR") open.stream.end();
      };
      if (event.afterMs) this.#clock.after(event.afterMs, tell);
      else tell();
    }
  }

  #endLater(stream: WatchStream, { endsAfterMs, end }: WatchAnswer, timeout: Millis): void {
    this.#clock.after(Math.min(endsAfterMs ?? timeout, timeout), () =>
      stream.end(end === "reset" ? reset() : undefined),
    );
  }

  #bookmark(open: { readonly stream: WatchStream; version: string }): void {
    this.#clock.after(this.#bookmarkEvery, () => {
      if (!open.stream.isOpen) return;
      open.stream.say(`${lineOf({ type: "BOOKMARK", resourceVersion: open.version })}\n`);
      this.#bookmark(open);
    });
  }

  async #refuse({ error }: Failing, shown: Request, signal: AbortSignal): Promise<HttpResponse> {
    const refusal = refusalOf(error);
    shown.answer = nameOf(error);
    if (!(refusal instanceof TransportError)) return { ...refusal, body: bytes(refusal.body) };
    if (refusal.reason !== "Timeout") throw refusal;
    return await new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  async #takeTime(takes: Millis | undefined, signal: AbortSignal): Promise<void> {
    if (takes) await sleep(this.#clock, takes, signal);
    signal.throwIfAborted();
  }

  #show({ path, headers }: HttpRequest): Request {
    const query = new URL(path, "http://server").searchParams;
    const numberOf = (name: string): number | undefined => (query.has(name) ? Number(query.get(name)) : undefined);
    return {
      atMs: Math.round(this.#clock.now().mono),
      verb: query.get("watch") === "true" ? "WATCH" : "LIST",
      resourceVersion: query.get("resourceVersion") ?? "",
      resourceVersionMatch: query.get("resourceVersionMatch") ?? undefined,
      limit: numberOf("limit"),
      continue: query.get("continue") ?? undefined,
      timeoutSeconds: numberOf("timeoutSeconds"),
      allowWatchBookmarks: query.has("allowWatchBookmarks") ? query.get("allowWatchBookmarks") === "true" : undefined,
      metadataOnly: headers.accept?.includes("as=PartialObjectMetadata") ? true : undefined,
      answer: "none",
    };
  }
}

const reset = (): TransportError => new TransportError("Reset", "the server: the connection was reset");

const nameOf = (failure: Failure): string =>
  typeof failure === "string" ? failure : `${failure.status} ${failure.reason ?? ""}`.trim();

async function* bytes(text: string): AsyncGenerator<Uint8Array, void, void> {
  yield Buffer.from(text);
}

function versionOf(event: WatchEvent): string | undefined {
  if (event.type === "BOOKMARK") return event.resourceVersion;
  return "object" in event ? event.object.metadata.resourceVersion : undefined;
}

function lineOf(event: WatchEvent): string {
  switch (event.type) {
    case "RAW":
      return event.text;
    case "ERROR":
      return JSON.stringify({ type: event.type, object: statusOf(event.error) });
    case "BOOKMARK": {
      const object = wireObject({ metadata: { name: "", uid: "", resourceVersion: event.resourceVersion } });
      return JSON.stringify({ type: event.type, object });
    }
    default:
      return JSON.stringify({ type: event.type, object: wireObject(event.object) });
  }
}
