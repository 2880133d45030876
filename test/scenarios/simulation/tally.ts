import type { Millis } from "../../../agent/base/clock.ts";
import type { HttpRequest } from "../../../agent/client/transport/transport.ts";
import { emptyHistory } from "./history.ts";
import { Recorder, type Sent } from "./recorder.ts";
import type { Setting } from "./schedule.ts";
import type { SimBoard } from "./sim-board.ts";
import type { SimProcess } from "./sim-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

const second: Millis = 1000;
const mostKept = 20;

/** Counts the acts of agents without storing them, so that it does not grow over time. */
export class Tally extends Recorder {
  readonly #time: VirtualTime;
  /** Since `begin`: when an agent first tried, and when its first request arrived. */
  readonly tries = new Map<string, Millis>();
  readonly arrivals = new Map<string, Millis>();
  /** Since `begin`: the first harmful writes of agents. */
  readonly harm: string[] = [];

  constructor(time: VirtualTime, setting: Setting) {
    super(time, emptyHistory(setting), { everything: false });
    this.#time = time;
  }

  begin(): void {
    this.tries.clear();
    this.arrivals.clear();
    this.harm.length = 0;
  }

  /** Records a request by a board's agent, even without a connection. */
  listenIn({ plate, agentEdge }: SimBoard): void {
    const send = agentEdge.send.bind(agentEdge);
    agentEdge.send = (process, request) => {
      if (!this.tries.has(plate.name)) this.tries.set(plate.name, this.#time.now);
      return send(process, request);
    };
  }

  override note(): void {}
  override begun(): void {}
  override changed(): void {}
  override delivered(): void {}
  override opened(): void {}
  override received(): void {}
  override closed(): void {}
  override arrived(): void {}

  override sent(process: SimProcess, { method, path, body = "" }: HttpRequest): Sent {
    if (process.role === "agent" && this.harm.length < mostKept && isHarm(method, path, body)) {
      this.harm.push(`${this.#time.now} ${process.board} ${method} ${path} ${body}`);
    }
    return { process, method, path, write: undefined, before: undefined };
  }

  override arriving({ process: { role, board } }: Sent): void {
    if (role === "agent" && !this.arrivals.has(board)) this.arrivals.set(board, this.#time.now);
  }
}

/** The highest number of moments within any one second. */
export function mostInOneSecond(moments: Iterable<Millis>): number {
  const sorted = [...moments].sort((a, b) => a - b);
  let most = 0;
  for (let from = 0, to = 0; to < sorted.length; to++) {
    while ((sorted[to] ?? 0) - (sorted[from] ?? 0) >= second) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

function isHarm(method: string, path: string, body: string): boolean {
  if (path.includes("/pods/")) return method !== "GET";
  return path.startsWith("/api/v1/nodes/") && method !== "GET" && /taints|"Unknown"|"False"/.test(body);
}
