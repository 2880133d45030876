import type { Timer } from "../../../agent/base/clock.ts";
import type { HttpRequest, HttpResponse } from "../../../agent/client/transport/transport.ts";
import { TransportError } from "../../../agent/client/transport/transport-error.ts";
import type { ApiResponse } from "../../../simulator/site-api/requests/exchange.ts";
import { Channel } from "./channel.ts";
import type { Edge, Refusal } from "./edge.ts";
import type { Sent } from "./recorder.ts";
import type { SimProcess } from "./sim-process.ts";

const gone = new Error("the connection has ended");

interface ExchangeDeps {
  readonly process: SimProcess;
  readonly request: HttpRequest;
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: unknown) => void;
}

/** One request along an edge, and its answer back. */
export class Exchange {
  readonly process: SimProcess;
  readonly #edge: Edge;
  readonly #deps: ExchangeDeps;
  /** The server's signal, which aborts when the connection ends. */
  readonly #served = new AbortController();
  readonly #channel: Channel;
  readonly isWatch: boolean;
  readonly method: HttpRequest["method"];
  #timer: Timer | undefined;
  #sent: Sent | undefined;
  #answered = false;
  isOver = false;

  constructor(edge: Edge, deps: ExchangeDeps) {
    this.#edge = edge;
    this.#deps = deps;
    this.process = deps.process;
    const { signal, timeout, method, path } = deps.request;
    this.method = method;
    this.isWatch = path.includes("watch=true");
    this.#channel = new Channel(() => this.#close());
    if (signal.aborted) {
      this.isOver = true;
      deps.reject(signal.reason);
      return;
    }
    signal.addEventListener("abort", this.#aborted, { once: true });
    if (timeout !== undefined) {
      const late = (): void => this.fail(new TransportError("Timeout", `no response within ${timeout / 1000}s`));
      this.#timer = this.process.after(timeout, late);
    }
  }

  /** A connection exists: this is the last moment at which the program can cancel. */
  sendNow(): void {
    const { request } = this.#deps;
    try {
      request.guard?.();
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#sent = this.#edge.world.recorder.sent(this.process, request);
    this.#edge.travel("there", () => this.#arrive());
  }

  /** Reports the failure to the program as soon as it can receive anything. */
  breakOff(error: unknown): void {
    this.#leave();
    this.process.deliver(() => this.fail(error));
  }

  fail(error: unknown): void {
    if (this.#answered) {
      this.#channel.fail(error);
      this.#close();
    } else if (!this.isOver) {
      this.#close();
      this.#deps.reject(error);
    }
  }

  /** The program has ended. A request already sent may still arrive. */
  abandon(): void {
    this.#close();
  }

  readonly #aborted = (): void => this.fail(this.#deps.request.signal.reason);

  #close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#timer?.cancel();
    this.#deps.request.signal.removeEventListener("abort", this.#aborted);
    this.#edge.over(this);
    this.#leave();
    if (this.isWatch) this.#edge.world.recorder.closed(this);
  }

  /** Only a watch lasts at the server. */
  #leave(): void {
    if (this.isWatch) this.#served.abort(gone);
  }

  #arrive(): void {
    const { api, recorder } = this.#edge.world;
    const sent = this.#sent;
    if (sent === undefined) return;
    if (!api.isUp) {
      this.breakOff(new TransportError("Reset", "the connection was reset"));
      return;
    }
    const refusal = this.#edge.refusal(this);
    const { method, path, headers, body } = this.#deps.request;
    const request = { method, path, headers, signal: this.#served.signal, ...(body !== undefined && { body }) };
    recorder.arriving(sent);
    const response = refusal ? refused(refusal) : api.handle(request);
    recorder.arrived(sent, response.status);
    if (this.isOver || this.#edge.losesAnswers) return;
    if (this.isWatch && response.status === 200) void this.#pump(response);
    else void this.#collect(response);
  }

  /** A small answer comes in one piece. */
  async #collect(response: ApiResponse): Promise<void> {
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body) pieces.push(piece);
    this.#back(() => {
      this.#open(response);
      if (this.#sent) this.#edge.world.recorder.delivered(this.#sent, pieces);
      for (const piece of pieces) this.#channel.push(piece);
      this.#channel.end();
    });
  }

  async #pump(response: ApiResponse): Promise<void> {
    const { recorder } = this.#edge.world;
    this.#back(() => {
      this.#open(response);
      recorder.opened(this);
    });
    for await (const piece of response.body) {
      if (this.isOver) return;
      this.#edge.travelPiece(
        this.#delivering(() => {
          recorder.received(this, piece);
          this.#channel.push(piece);
        }),
      );
    }
    this.#edge.travelPiece(this.#delivering(() => this.#channel.end()));
  }

  #back(arrive: () => void): void {
    this.#edge.travel("back", this.#delivering(arrive));
  }

  #delivering(arrive: () => void): () => void {
    return () =>
      this.process.deliver(() => {
        if (!this.isOver) arrive();
      });
  }

  #open({ status, headers }: ApiResponse): void {
    this.#answered = true;
    this.#timer?.cancel();
    this.#deps.resolve({ status, headers, body: this.#channel });
  }

  get path(): string {
    return this.#deps.request.path;
  }
}

/** A refusal by a busy or broken server, before any effect. */
function refused({ status, retryAfter }: Refusal): ApiResponse {
  const text = JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code: status,
    message: "not now",
  });
  async function* body(): AsyncGenerator<Uint8Array, void> {
    yield new TextEncoder().encode(text);
  }
  const headers = { "content-type": "application/json" };
  return {
    status,
    headers: retryAfter === undefined ? headers : { ...headers, "retry-after": String(retryAfter) },
    body: body(),
  };
}
