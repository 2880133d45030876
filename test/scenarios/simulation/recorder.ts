import { createHash } from "node:crypto";
import type { HttpRequest } from "../../../agent/client/transport/transport.ts";
import type { CacheLoss } from "./board-storage.ts";
import type { Exchange } from "./exchange.ts";
import type { History, LeaseContent, Listening, NodeState, Write } from "./history.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimulatedApi } from "./simulated-api.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** A sent request, with its parts of the history. */
export interface Sent {
  readonly process: SimProcess;
  readonly method: string;
  readonly path: string;
  /** Set for agents' writes. */
  readonly write: Write | undefined;
  before: string | undefined;
}

export const leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default";
const leaseCollection = leasePath.slice(0, leasePath.lastIndexOf("/"));
const leaseKey = "leases/kube-system/siteward-default";
const tailOfTrace = 400;

/**
 * Records all requests, effects and received data: as a history for the checks, as lines for people, and as a single
 * number for comparing two runs.
 */
export class Recorder {
  readonly history: History;
  readonly #time: VirtualTime;
  readonly #hash = createHash("sha256");
  readonly #lines: string[] = [];
  readonly #everything: boolean;
  readonly #listening = new Map<Exchange, Listening>();
  readonly #synced = new Map<string, number>();
  #api: SimulatedApi | undefined;
  #order = 0;

  constructor(time: VirtualTime, history: History, { everything }: { readonly everything: boolean }) {
    this.#time = time;
    this.history = history;
    this.#everything = everything;
  }

  attach(api: SimulatedApi): void {
    this.#api = api;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  get digest(): string {
    return this.#hash.copy().digest("hex").slice(0, 16);
  }

  note(what: string): void {
    const line = `${(this.#time.now / 1000).toFixed(3)} ${what}`;
    this.#hash.update(line);
    this.#lines.push(line);
    if (!this.#everything && this.#lines.length > 2 * tailOfTrace) this.#lines.splice(0, tailOfTrace);
  }

  begun(process: SimProcess): void {
    if (process.role === "kubelet") return;
    const { id, board } = process;
    this.history.processes.set(id, {
      id,
      board,
      startedAt: this.#time.now,
      isLost: false,
      listening: [],
      toldTerms: [],
    });
  }

  /** The board's cache is synced to its card. */
  synced(board: string): void {
    this.#synced.set(board, this.#order++);
  }

  /** The board lost what it had read since its cache was synced, or all of it. */
  forgot(board: string, loss: CacheLoss): void {
    if (loss === "none") return;
    const from = loss === "all" ? 0 : (this.#synced.get(board) ?? 0);
    push(this.history.forgotten, board, { from, until: this.#order++ });
  }

  lost({ id }: SimProcess): void {
    const process = this.history.processes.get(id);
    if (process) process.isLost = true;
  }

  sent(process: SimProcess, { method, path, body = "" }: HttpRequest): Sent {
    this.note(`${nameOf(process)} > ${method} ${path} ${body.length}`);
    const isWrite = process.role === "agent" && method !== "GET";
    const write: Write | undefined = isWrite
      ? {
          process: process.id,
          board: process.board,
          method,
          path,
          body,
          sentAt: this.#time.now,
          order: this.#order++,
          effect: undefined,
          isAnswered: false,
        }
      : undefined;
    if (write) this.history.writes.push(write);
    return { process, method, path, write, before: undefined };
  }

  /** Called just before the API server processes it. */
  arriving(sent: Sent): void {
    const key = keyIn(sent);
    if (sent.write && key !== undefined) sent.before = this.#api?.stored(key);
  }

  arrived(sent: Sent, status: number): void {
    const { process, method, path, write, before } = sent;
    this.note(`${nameOf(process)} = ${method} ${path} ${status}`);
    const order = this.#order++;
    if (write) write.effect = { at: this.#time.now, order, status, before };
    if (method === "GET" || status >= 300) return;
    if (process.role === "kubelet" && isSign(path)) push(this.history.signs, process.board, this.#time.now);
    this.#look(path, order, write);
  }

  /** A change made by neither an agent nor a kubelet. */
  changed(path: string): void {
    this.#look(path, this.#order++, undefined);
  }

  /** The answer reached the program. */
  delivered({ process, path, method, write }: Sent, pieces: readonly Uint8Array[]): void {
    if (write) write.isAnswered = true;
    const isLease = path === leasePath || (method === "POST" && path === leaseCollection);
    if (process.role === "kubelet" || !isLease) return;
    const term = /"leaseTransitions":(\d+)/.exec(Buffer.concat(pieces).toString())?.[1];
    if (term === undefined) return;
    this.history.processes.get(process.id)?.toldTerms.push({ order: this.#order++, term: Number(term) });
  }

  opened(exchange: Exchange): void {
    const resource = resourceOf(exchange.path);
    const listening = { resource, from: this.#time.now, until: undefined, pieces: [] };
    this.note(`${nameOf(exchange.process)} watches ${resource}`);
    this.#listening.set(exchange, listening);
    this.history.processes.get(exchange.process.id)?.listening.push(listening);
  }

  received(exchange: Exchange, piece: Uint8Array): void {
    this.note(`${nameOf(exchange.process)} hears ${piece.length} of ${resourceOf(exchange.path)}`);
    if (exchange.process.role === "kubelet") return;
    this.#listening.get(exchange)?.pieces.push({ at: this.#time.now, text: Buffer.from(piece).toString() });
  }

  closed(exchange: Exchange): void {
    const listening = this.#listening.get(exchange);
    if (listening) listening.until = this.#time.now;
    this.#listening.delete(exchange);
  }

  #look(path: string, order: number, by: Write | undefined): void {
    const at = this.#time.now;
    if (path.startsWith(leaseCollection)) {
      const text = this.#api?.stored(leaseKey);
      this.history.leases.push({ at, order, by, lease: text === undefined ? undefined : leaseOf(text) });
    } else if (path.startsWith("/api/v1/nodes")) {
      const name = nodeIn(path);
      const names = name === undefined ? this.history.setting.boards.map((board) => board.name) : [name];
      for (const one of names) {
        const text = this.#api?.stored(`nodes/${one}`);
        if (text !== undefined) push(this.history.nodes, one, nodeOf(text, at));
      }
    }
  }
}

const nameOf = ({ role, board, id }: SimProcess): string => `${role}-${id}@${board}`;

const nodeIn = (path: string): string | undefined => /^\/api\/v1\/nodes\/([^/?]+)/.exec(path)?.[1];

/** The key of the object whose state before the write is recorded: a Node, or a pod that is deleted. */
function keyIn({ method, path }: Sent): string | undefined {
  const node = nodeIn(path);
  if (node !== undefined) return `nodes/${node}`;
  const [, namespace, pod] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/?]+)$/.exec(path) ?? [];
  return method === "DELETE" && pod !== undefined ? `pods/${namespace}/${pod}` : undefined;
}

const isSign = (path: string): boolean =>
  path.includes("/namespaces/kube-node-lease/") || path.startsWith("/api/v1/nodes");

function resourceOf(path: string): Listening["resource"] {
  if (path.startsWith("/api/v1/nodes")) return "nodes";
  return path.startsWith("/apis/coordination") ? "leases" : "pods";
}

function leaseOf(text: string): LeaseContent {
  const { metadata, spec } = JSON.parse(text);
  return {
    uid: metadata.uid,
    holder: spec.holderIdentity ?? "",
    term: spec.leaseTransitions ?? 0,
    seconds: spec.leaseDurationSeconds ?? 0,
    budget: metadata.annotations?.["siteward.dev/budget"],
  };
}

export function nodeOf(text: string, at: number): NodeState {
  const { metadata, spec, status } = JSON.parse(text);
  const ready = status?.conditions?.find(({ type }: { type: string }) => type === "Ready")?.status ?? "";
  const taints = (spec?.taints ?? []).map(({ key, effect }: { key: string; effect: string }) => `${key}:${effect}`);
  return { at, version: metadata.resourceVersion, ready, taints };
}

export function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
