import { conditionOf } from "../api/conditions.ts";
import type { Node } from "../api/core.ts";
import { type JudgeNote, type JudgeReading, judgedTaints, judgeNotes, otherJudge } from "../api/judge-notes.ts";
import { nodes } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { KubeClient } from "../client/kube-client.ts";
import type { Lister } from "../informer/lister.ts";

export interface SecondJudgeDeps {
  readonly client: Pick<KubeClient, "get">;
  readonly boards: Lister<Node>;
  /** Whether this board currently judges boards; otherwise there can be no second judge. */
  readonly isJudge: () => boolean;
}

/** The last known write of another judge. */
export interface OtherJudge extends Pick<JudgeNote, "manager" | "wrote"> {
  readonly board: string;
  /** When this board found the write. */
  readonly at: Instant;
}

/** The last read of a board's metadata. */
interface Reading {
  readonly sight: JudgeReading;
  /** The board's taints and readiness at that read; if they change, the board is read again. */
  readonly state: string;
  readonly at: Instant;
}

/** Pause after the first read of a board. That read finds nothing, because only later changes show another judge. */
const firstPause: Millis = 5_000;
/** Pause after any other read. */
const pause: Millis = 30_000;
/** Interval between reads of boards that have not changed. */
const routinePeriod: Millis = 300_000;
/** How long the cache may take to show the Node that was read. */
const cacheDelay: Millis = 1_000;
/** How long a second judge is reported. Boards rarely change state, so its writes are rarely found. */
const reportFor: Millis = 86_400_000;

/**
 * Finds another node lifecycle controller that writes to our boards. Our holds do not stop its evictions, and the two
 * undo each other's work. Informers do not keep managedFields, so the metadata of individual Nodes is read: about 1 MB
 * a day, and additionally each time a board's taints or readiness change.
 */
export class SecondJudge {
  readonly #ambient: Ambient;
  readonly #deps: SecondJudgeDeps;
  readonly #readings = new Map<string, Reading>();
  /** The last known write of each other judge, by the name of its field manager. */
  readonly #found = new Map<string, OtherJudge>();
  /** Boards whose cached Node differed from the result of the last read; all other boards are read first. */
  readonly #later = new Set<string>();
  #routineAt: Instant | undefined;

  constructor(ambient: Ambient, deps: SecondJudgeDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  found(now: Instant): readonly OtherJudge[] {
    return [...this.#found.values()].filter(({ at }) => elapsed(at, now) < reportFor);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    while (!signal.aborted) {
      const board = this.#deps.isJudge() ? this.#next() : undefined;
      if (!this.#deps.isJudge()) this.#readings.clear();
      const isFirst = board !== undefined && !this.#readings.has(board);
      if (board !== undefined) {
        try {
          await this.#read(board, signal);
        } catch (error) {
          if (signal.aborted) return;
          log.debug("a board's managed fields cannot be read", { board, error });
        }
      }
      await sleep(clock, isFirst ? firstPause : pause, signal);
    }
  }

  /** The next board to read: one that was never read, one that changed, or the one whose last read is oldest. */
  #next(): string | undefined {
    const now = this.#ambient.clock.now();
    const names = new Set<string>();
    let unseen: string | undefined;
    let changed: string | undefined;
    let oldest: { readonly name: string; readonly at: Instant } | undefined;
    for (const node of this.#deps.boards.list()) {
      const { name } = node.metadata;
      names.add(name);
      const last = this.#readings.get(name);
      if (last === undefined) {
        unseen ??= name;
        if (!this.#later.has(name)) return name;
        continue;
      }
      if (last.state !== stateOf(node)) changed ??= name;
      if (oldest === undefined || last.at.mono < oldest.at.mono) oldest = { name, at: last.at };
    }
    for (const name of this.#readings.keys()) if (!names.has(name)) this.#readings.delete(name);
    this.#later.clear();
    if (unseen !== undefined || changed !== undefined) return unseen ?? changed;
    this.#routineAt ??= now;
    if (elapsed(this.#routineAt, now) < routinePeriod) return undefined;
    this.#routineAt = now;
    return oldest?.name;
  }

  async #read(board: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    const { metadata } = await this.#deps.client.get(nodes, { name: board, metadataOnly: true }, signal);
    await sleep(clock, cacheDelay, signal);
    const cached = this.#deps.boards.get(board);
    // The cache holds a different resourceVersion from the one that the API returned, so this board is read again
    // later.
    if (cached === undefined || cached.metadata.resourceVersion !== metadata.resourceVersion) {
      this.#later.add(board);
      return;
    }
    const sight = { notes: judgeNotes(metadata.managedFields), taints: judgedTaints(cached) };
    const at = clock.now();
    const before = this.#readings.get(board)?.sight;
    this.#readings.set(board, { sight, state: stateOf(cached), at });
    const note = before && otherJudge(before, sight);
    if (note === undefined) return;
    const { manager, wrote } = note;
    if (!this.#found.has(manager))
      log.error("another controller judges the boards of this site", { manager, board, wrote });
    this.#found.set(manager, { manager, wrote, board, at });
  }
}

const stateOf = (node: Node): string =>
  `${conditionOf(node.status?.conditions, "Ready")?.status ?? ""} ${judgedTaints(node)}`;
