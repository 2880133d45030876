import { type Clock, elapsed, type Instant, isAfter, type Millis, shifted, sleep } from "../base/clock.ts";
import { kubeletPort } from "./healthz.ts";
import type { AskKubelet } from "./kubelet-health.ts";

/** Reads a table of /proc piece by piece, as lines. Throws if it cannot be read. */
type ReadTable = (file: string) => AsyncIterable<readonly string[]>;

/**
 * Asks only a listener of root, as every usual kubelet is: any process of the host's network, even a pod's, can listen
 * on the kubelet's port while the kubelet is down. Where the owner cannot be read, the answer counts.
 */
export function ofRoot(ask: AskKubelet, clock: Clock, read: ReadTable, port = kubeletPort): AskKubelet {
  const owner = new ListenerOwner(clock, read, port);
  return async () => {
    const answer = (await owner.isRoot()) ? await ask() : "silent";
    // Checked again, because the listener may have changed in between.
    return answer !== "silent" && (await owner.isRoot()) ? answer : "silent";
  };
}

/** Two checks and the question itself take less time than the leader waits for an answer. */
const patience: Millis = 1000;
/** After a reading that took longer, the next one waits for nine times as long. */
const slow: Millis = 100;
/** Maximum time to wait, because a reading also takes long if the process is stopped meanwhile. */
const longestRest: Millis = 60_000;

/**
 * The owner of the listener that takes a connection to 127.0.0.1. Pods on the host's network can fill the tables, so
 * that reading them takes long: until a reading is complete, the result of the previous one counts. This delays a
 * result, whereas a partial reading could show a dead kubelet as running, or a running one as dead.
 */
class ListenerOwner {
  readonly #clock: Clock;
  readonly #read: ReadTable;
  readonly #port: number;
  #isRoot = false;
  #reading: Promise<void> | undefined;
  /** No reading begins before this time. */
  #restsUntil: Instant | undefined;

  constructor(clock: Clock, read: ReadTable, port: number) {
    this.#clock = clock;
    this.#read = read;
    this.#port = port;
  }

  /** Whether root listens there, and no other user. */
  async isRoot(): Promise<boolean> {
    const now = this.#clock.now();
    if (this.#restsUntil && isAfter(this.#restsUntil, now)) return this.#isRoot;
    this.#reading ??= this.#readAll().finally(() => {
      const ended = this.#clock.now();
      const took = elapsed(now, ended);
      this.#restsUntil = took > slow ? shifted(ended, Math.min(9 * took, longestRest)) : undefined;
      this.#reading = undefined;
    });
    const waiting = new AbortController();
    await Promise.race([this.#reading, sleep(this.#clock, patience, waiting.signal)]);
    waiting.abort();
    return this.#isRoot;
  }

  async #readAll(): Promise<void> {
    const found: Owners = new Map();
    const [inTable4, inTable6] = [await this.#readTable(tcp, found), await this.#readTable(tcp6, found)];
    const reached = inOrder.find((addresses) => addresses.some((address) => found.has(address)));
    if (inTable4 === "too long" || inTable6 === "too long") this.#isRoot = false;
    else if (reached) this.#isRoot = reached.every((address) => found.get(address) ?? true);
    else this.#isRoot = inTable4 === "unreadable";
  }

  async #readTable(file: string, found: Owners): Promise<"read" | "unreadable" | "too long"> {
    try {
      return (await findListeners(this.#read(file), this.#port, found)) ? "read" : "too long";
    } catch {
      return "unreadable";
    }
  }
}

/** By address: whether all listeners there belong to root. Contains only addresses of `inOrder`. */
type Owners = Map<string, boolean>;

/** False if there are more than `maxListeners`. Reads no further than the listeners, which the kernel lists first. */
async function findListeners(table: AsyncIterable<readonly string[]>, port: number, found: Owners): Promise<boolean> {
  let listeners = 0;
  for await (const rows of table) {
    for (const row of rows) {
      const [, address = "", localPort = "", state, user] = form.exec(row) ?? [];
      if (state === undefined) continue;
      if (state !== listening) return true;
      if (++listeners > maxListeners) return false;
      if (Number.parseInt(localPort, 16) !== port || !inOrder.some((one) => one.includes(address))) continue;
      found.set(address, user === "0" && found.get(address) !== false);
    }
  }
  return true;
}

const tcp = "/proc/net/tcp";
const tcp6 = "/proc/net/tcp6";
/** Number, local address, remote address, state, queues, timers, retransmissions, user id. The heading differs. */
const form = /^ *\d+: ([0-9A-F]+):([0-9A-F]+) \S+ ([0-9A-F]+) \S+ \S+ \S+ +(\d+) /;
const listening = "0A";
/** More than a board has memory for. Ends the reading even of a table that grows while it is read. */
const maxListeners = 1_000_000;
/**
 * The addresses of listeners that may take a connection to 127.0.0.1. An exact address takes precedence, and [::] takes
 * IPv4 only if nothing else does: another user may listen there beside the kubelet. They are words in host byte order,
 * all supported boards being little-endian.
 */
const inOrder: readonly (readonly string[])[] = [
  ["0100007F", "0000000000000000FFFF00000100007F"],
  ["00000000", "0000000000000000FFFF000000000000"],
  ["00000000000000000000000000000000"],
];
