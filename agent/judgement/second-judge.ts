import { conditionOf } from "../api/conditions.ts";
import type { Node } from "../api/core.ts";
import { type JudgeNote, type JudgeSight, judgedTaints, judgeNotes, otherJudge } from "../api/judge-notes.ts";
import { nodes } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { KubeClient } from "../client/kube-client.ts";
import type { Lister } from "../informer/lister.ts";

export interface SecondJudgeParts {
  readonly client: Pick<KubeClient, "get">;
  readonly boards: Lister<Node>;
  /** Whether this board judges at present: only then can there be a second judge. */
  readonly isJudge: () => boolean;
}

/** The last write of another judge that was seen. */
export interface OtherJudge extends Pick<JudgeNote, "manager" | "wrote"> {
  readonly board: string;
  /** When this board saw it. */
  readonly at: Instant;
}

interface Look {
  readonly sight: JudgeSight;
  /** The board's taints and readiness at that read; a change is a reason to read again. */
  readonly state: string;
  readonly at: Instant;
}

/** Pace until each board was read once: managers found in the first read may be older than this site. */
const firstPace: Millis = 5_000;
const pace: Millis = 30_000;
/** Boards without changes are read now and then, one after the other. */
const routine: Millis = 300_000;
/** Gives the cache time to catch up with the Node that was read. */
const settling: Millis = 1_000;
/** How long a second judge is reported: boards rarely change state, so one that writes only then is rarely seen. */
const toldFor: Millis = 86_400_000;

/**
 * Finds another node lifecycle controller that writes to our boards: no operator could then prevent an eviction, and
 * the two undo each other's work. Informers keep no managedFields, so single Nodes are read, their metadata only: about
 * 1 MB a day, and one more read each time that a board's taints or readiness change.
 */
export class SecondJudge {
  readonly #ambient: Ambient;
  readonly #parts: SecondJudgeParts;
  readonly #looks = new Map<string, Look>();
  /** The last write of each manager that was seen. */
  readonly #found = new Map<string, OtherJudge>();
  /** Boards whose cached Node was behind at their first read; the others go first. */
  readonly #later = new Set<string>();
  #routineAt: Instant | undefined;

  constructor(ambient: Ambient, parts: SecondJudgeParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  found(now: Instant): readonly OtherJudge[] {
    return [...this.#found.values()].filter(({ at }) => elapsed(at, now) < toldFor);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    while (!signal.aborted) {
      const board = this.#parts.isJudge() ? this.#next() : undefined;
      if (!this.#parts.isJudge()) this.#looks.clear();
      const isFirst = board !== undefined && !this.#looks.has(board);
      if (board !== undefined) {
        try {
          await this.#look(board, signal);
        } catch (error) {
          if (signal.aborted) return;
          log.debug("a board's notes cannot be read", { board, error });
        }
      }
      await sleep(clock, isFirst ? firstPace : pace, signal);
    }
  }

  /** A board that was never read, one that changed, or the one whose last read is the longest ago. */
  #next(): string | undefined {
    const now = this.#ambient.clock.now();
    const names = new Set<string>();
    let unseen: string | undefined;
    let changed: string | undefined;
    let oldest: { readonly name: string; readonly at: Instant } | undefined;
    for (const node of this.#parts.boards.list()) {
      const { name } = node.metadata;
      names.add(name);
      const last = this.#looks.get(name);
      if (last === undefined) {
        unseen ??= name;
        if (!this.#later.has(name)) return name;
        continue;
      }
      if (last.state !== stateOf(node)) changed ??= name;
      if (oldest === undefined || last.at.mono < oldest.at.mono) oldest = { name, at: last.at };
    }
    for (const name of this.#looks.keys()) if (!names.has(name)) this.#looks.delete(name);
    this.#later.clear();
    if (unseen !== undefined || changed !== undefined) return unseen ?? changed;
    this.#routineAt ??= now;
    if (elapsed(this.#routineAt, now) < routine) return undefined;
    this.#routineAt = now;
    return oldest?.name;
  }

  async #look(board: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    const { metadata } = await this.#parts.client.get(nodes, { name: board, metadataOnly: true }, signal);
    await sleep(clock, settling, signal);
    const cached = this.#parts.boards.get(board);
    // The cached Node is another version than the one read: the next read will find them equal.
    if (cached === undefined || cached.metadata.resourceVersion !== metadata.resourceVersion) {
      this.#later.add(board);
      return;
    }
    const sight = { notes: judgeNotes(metadata.managedFields), taints: judgedTaints(cached) };
    const at = clock.now();
    const before = this.#looks.get(board)?.sight;
    this.#looks.set(board, { sight, state: stateOf(cached), at });
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
