import type { DecisionBound, DecisionLog, DecisionRange } from "../../storage/decision-log.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import { sentenceOf } from "../base/errors.ts";
import { isFatal } from "../base/reaction.ts";
import { isoTime } from "../base/time/iso-time.ts";
import { type ChangeSummary, DecisionChanges } from "./decision-changes.ts";
import {
  type DecisionRecord,
  type DueAct,
  type HeldGroup,
  isSameReason,
  restraintNow,
  type StoredMoment,
  type StoryState,
  type Subject,
  subjectText,
} from "./decision-record.ts";
import type { Grounds, Restraint } from "./grounds.ts";
import { type PretendedFor, storySentence } from "./log-sentences.ts";
import { MissingRecords } from "./missing-records.ts";

/** An act as decided by a controller. */
export interface DecidedAct {
  readonly on: Subject;
  readonly grounds: Grounds;
  readonly by: string;
  readonly term: number;
}

/** The pass that holds acts back. */
interface DecidingPass {
  /** Name of the controller. */
  readonly by: string;
  readonly key: string;
  readonly term: number;
}

/**
 * Records the outcome of decided acts. Implemented by DecisionBook. Deletions of pods that no kubelet has started are
 * not recorded: they harm nothing, and a tenant may bind any number of such pods to a lost board.
 */
export interface Decisions {
  /** Records an act that was done or, with an error, that failed. */
  acted(act: DecidedAct, error?: Error): void;
  /**
   * Records the acts that are due after a pass but not done. Acts that were held back after the previous pass but are
   * not among them have lapsed.
   */
  due(pass: DecidingPass, acts: readonly DueAct[]): void;
}

/** The number of acts that were held back for a reason. */
interface HeldCount {
  readonly why: Restraint["why"];
  /** Acts that are held back now. */
  readonly now: number;
  /** Acts since this process started. An act that is held for two reasons counts for both. */
  readonly total: number;
}

type DecisionStore = Pick<DecisionLog, "write" | "newest">;

/** A decision record of the current term, which may still change. */
interface Story {
  /** The id of the record's row; undefined if not stored yet. */
  id: number | undefined;
  /** Why the act is held back now; undefined if nothing holds it back. */
  heldBy: Restraint["why"] | undefined;
  record: DecisionRecord;
  /** When something last happened in it, even just another failure. */
  movedAt: Instant;
  /** True if its row lacks something that is no reason to write it: another failure, or acts that began no story. */
  isBehind: boolean;
}

/** Limits of the stored records. A record takes about 750 bytes, so some 350 are kept. */
export const decisionBound: DecisionBound = { rows: 500, bytes: 256 * 1024 };

/** Changes are collected for this long and stored in one transaction, to spare the flash. */
const pause: Millis = 5000;
/** Interval between attempts after a failure to store changes. */
const retry: Millis = 60_000;
/**
 * Maximum number of open stories (records that may still change). At this limit, a hold displaces a failed story, and a
 * failure displaces one that has ended. Otherwise, a new story displaces one of the namespace with the most open
 * stories, if the new story's own namespace would still have fewer, or if the new story is about a board. If none can
 * be displaced, no new story begins.
 */
const maxOpen = 256;
/** A failed story ends once the act has not been tried for this long; another attempt begins a new one. */
const failedStoryRest: Millis = 3_600_000;
/** Maximum number of stories waiting to be stored. Beyond it, the namespace with the most of them loses its oldest. */
const maxWaiting = 256;
/** Maximum number of objects named for each group of acts that are held back. */
const maxNamed = 5;
/** In characters. Longer error messages are truncated, because a server may answer with any text. */
const maxErrorLength = 256;

/**
 * Writes the decision records of this board: a log line immediately, and a row in state.db within seconds. No act waits
 * for the row; a power cut may cost the rows of the last seconds.
 */
export class DecisionBook implements Decisions {
  readonly #ambient: Ambient;
  readonly #log: DecisionStore;
  readonly #board: string;
  readonly #boot: string;
  readonly #shadow: DecisionBook | undefined;
  readonly #pretence: PretendedFor | undefined;
  readonly #bell: WakeSignal;
  /** Stories of the current term that have not ended, by act and object. */
  readonly #open = new Map<string, Story>();
  /** The stories that were due after the last pass over a key, by controller and key. */
  readonly #due = new Map<string, ReadonlySet<string>>();
  readonly #totals = new Map<Restraint["why"], number>();
  readonly #changes = new DecisionChanges();
  readonly #waiting = new Set<Story>();
  /** The missing records of the current term. */
  readonly #missing = new MissingRecords();
  #term: number | undefined;
  #isFailing = false;

  constructor(
    ambient: Ambient,
    {
      log,
      board,
      bootId,
      shadow,
      pretence,
    }: {
      readonly log: DecisionStore;
      readonly board: string;
      readonly bootId: string;
      /** The book of controllers that only pretend to write, with the same store; undefined if there are none. */
      readonly shadow?: DecisionBook | undefined;
      /** Why the acts only would have been done; undefined if they are real. */
      readonly pretence?: PretendedFor | undefined;
    },
  ) {
    this.#ambient = ambient;
    this.#log = log;
    this.#board = board;
    this.#boot = bootId;
    this.#shadow = shadow;
    this.#pretence = pretence;
    this.#bell = new WakeSignal(ambient.clock);
  }

  acted(act: DecidedAct, error?: Error): void {
    if (isHarmless(act)) {
      const { on, by, term, grounds } = act;
      const fields = { act: grounds.act, object: subjectText(on), board: grounds.board, by, term };
      if (error === undefined && this.#pretence === undefined)
        this.#ambient.log.info("pod deleted that no kubelet had started", fields);
      return;
    }
    this.#begin(act.term);
    const id = storyId(act);
    const story = this.#present(id) ?? this.#begun(act, undefined);
    const { failures, state } = story.record;
    const { because, gate } = act.grounds;
    if (error === undefined) {
      this.#open.delete(id);
      this.#missing.removeUnopened(id);
      story.record = { ...story.record, because, gate };
      this.#change(story, "done");
    } else if (this.#isOpened(id, story, (other) => this.#isOver(other))) {
      const failed = { failures: failures + 1, error: sentenceOf(error).slice(0, maxErrorLength) };
      story.heldBy = undefined;
      story.record = { ...story.record, because, gate, ...failed };
      if (failures === 0 || state !== "failed") this.#change(story, "failed");
      else {
        story.movedAt = this.#ambient.clock.now();
        story.isBehind = true;
      }
    }
  }

  due({ by, key, term }: DecidingPass, all: readonly DueAct[]): void {
    const acts = all.filter((act) => !isHarmless(act));
    this.#begin(term);
    const place = `${by} ${key}`;
    const before = this.#due.get(place);
    if (before === undefined && acts.length === 0) return;
    const now = new Set<string>();
    for (const { restraint, ...act } of acts) {
      const id = storyId(act);
      const open = this.#present(id);
      if (open) open.heldBy = restraint?.why;
      else if (restraint === undefined) continue;
      const story = open ?? this.#begun({ ...act, by, term }, restraint?.why);
      if (!this.#isOpened(id, story, hasFailed)) continue;
      now.add(id);
      if (restraint) this.#restrain(story, act.grounds, restraint);
    }
    for (const id of before ?? []) if (!now.has(id)) this.#lapse(id);
    if (now.size === 0) this.#due.delete(place);
    else this.#due.set(place, now);
  }

  /** Records that what controllers decide that only pretend to write was really done by others. */
  seen({ on, by, term, grounds }: DecidedAct): void {
    this.#begin(term);
    const story = this.#begun({ on, by, term, grounds }, undefined);
    const { gate: _, ...record } = story.record;
    story.record = { ...record, state: "done" };
    const { act, board, because } = grounds;
    const fields = { act, object: subjectText(on), board, by, term, ...because };
    if (this.#pretence === "shadow") this.#ambient.log.info("shadow: another program acted", fields);
    this.#keep(story);
  }

  /** Stores changes in batches until the signal aborts; call `flush` after the last act. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    while (!signal.aborted) {
      await this.#bell.wait(signal);
      await sleep(clock, this.#isFailing ? retry : pause, signal);
      this.flush();
    }
  }

  /**
   * Stores all changes now, in the order in which they happened, with the current numbers of failures. Throws only
   * errors that end the process; others are logged, and the write is retried. The changes remain pending in both cases.
   */
  flush(): void {
    const behind = [...this.#open.values()].filter(({ isBehind }) => isBehind);
    const stories = [...new Set([...this.#waiting, ...behind])].sort((a, b) => elapsed(b.movedAt, a.movedAt));
    if (stories.length === 0) return;
    const open = new Set(this.#open.values());
    const entries = stories.map((story) => {
      const { id, record } = story;
      const { on, board } = record;
      const text = JSON.stringify(this.#counted(record));
      return { id, subject: subjectText(on), board, text, isOpen: open.has(story) };
    });
    try {
      const ids = this.#log.write(
        entries,
        [...open].flatMap(({ id }) => id ?? []),
        this.#pretence === undefined ? "acts" : "shadow",
      );
      stories.forEach((story, index) => {
        story.id = ids[index];
        story.isBehind = false;
      });
      this.#waiting.clear();
      this.#isFailing = false;
    } catch (error) {
      if (isFatal(error)) throw error;
      if (!this.#isFailing) this.#ambient.log.warn("decision records not stored", { waiting: stories.length, error });
      this.#isFailing = true;
      this.#bell.ring();
    }
  }

  /** How many acts have been held back, by reason, and how many are held back now, by their current reason. */
  heldCounts(): readonly HeldCount[] {
    const now = new Map<Restraint["why"], number>();
    for (const { heldBy } of this.#open.values()) {
      if (heldBy !== undefined) now.set(heldBy, (now.get(heldBy) ?? 0) + 1);
    }
    return [...this.#totals].map(([why, total]) => ({ why, now: now.get(why) ?? 0, total }));
  }

  /** The boards on which acts are held back for a reason now, in the order in which the holds began. */
  boardsHeldBy(why: Restraint["why"]): readonly string[] {
    const held = [...this.#open.values()].filter(({ heldBy }) => heldBy === why);
    return [...new Set(held.map(({ record }) => record.board))];
  }

  /** The acts that are held back now, grouped by board, act and reason, in the order in which the holds began. */
  heldGroups(term: number): readonly HeldGroup[] {
    const groups = new Map<string, HeldGroup>();
    for (const { heldBy, record } of this.#open.values()) {
      const found = record.restraints.findLast(({ why }) => why === heldBy);
      if (found === undefined || record.term !== term) continue;
      const { board, act, on } = record;
      const { since, ...restraint } = found;
      const key = [found.why, found.why === "no-gain" ? found.reason : "", act, board].join(" ");
      const group = groups.get(key) ?? { board, act, restraint, since, count: 0, some: [] };
      const some = group.some.length < maxNamed ? [...group.some, subjectText(on)] : group.some;
      groups.set(key, { ...group, count: group.count + 1, some });
    }
    return [...groups.values()];
  }

  /** The changes of acts since the last call; undefined if there were none. */
  takeChanges(): ChangeSummary | undefined {
    return this.#changes.take();
  }

  /**
   * The newest records, oldest first, as JSON: those of an object, of a board and its pods or, without a subject, of
   * everything.
   */
  newest(subject: string | undefined, most: number, range?: DecisionRange): readonly string[] {
    try {
      this.flush();
      this.#shadow?.flush();
    } catch {
      // Ignored, because records can be read even from a full disk; `run` itself fails with this error.
    }
    return this.#log.newest(subject, most, range);
  }

  /** A new term begins without open stories, because another leader's acts in the meantime are unknown here. */
  #begin(term: number): void {
    // A write of the previous term may end after this term began.
    if (this.#term !== undefined && term <= this.#term) return;
    for (const story of [...this.#open.values(), ...this.#waiting]) story.record = this.#counted(story.record);
    this.#term = term;
    this.#missing.clear();
    for (const [id, story] of this.#open) this.#leave(id, story);
    this.#due.clear();
  }

  /** The open story of an act. Drops it if it has ended. */
  #present(id: string): Story | undefined {
    const story = this.#open.get(id);
    if (story === undefined || !this.#isOver(story)) return story;
    this.#leave(id, story);
    return undefined;
  }

  #isOver(story: Story): boolean {
    return hasFailed(story) && elapsed(story.movedAt, this.#ambient.clock.now()) > failedStoryRest;
  }

  /** Stops following a story. */
  #leave(id: string, story: Story): void {
    this.#open.delete(id);
    if (story.isBehind) this.#keep(story);
  }

  /**
   * Adds the story to the open ones. If there is no room, the oldest one for which `givesWay` is true is dropped or,
   * without such a story, the oldest of the namespace with the most. If none can be dropped, the story is not added.
   * Returns whether it is open now.
   */
  #isOpened(id: string, story: Story, givesWay: (other: Story) => boolean): boolean {
    if (!this.#open.has(id) && this.#open.size >= maxOpen) {
      const other = [...this.#open].find(([, one]) => givesWay(one)) ?? this.#ofLargestNamespace(story.record);
      if (other === undefined) {
        // Only the report on shadow mode needs the number, which is stored with one of the open stories.
        const [first] = this.#open.values();
        if (first && this.#pretence !== undefined && this.#missing.addUnopened(id)) first.isBehind = true;
        return false;
      }
      this.#leave(...other);
    }
    this.#missing.removeUnopened(id);
    this.#open.set(id, story);
    return true;
  }

  /** The record with the number of missing ones, if it is of the current term. */
  #counted(record: DecisionRecord): DecisionRecord {
    const unrecorded = this.#missing.count;
    return record.term === this.#term && unrecorded > 0 ? { ...record, unrecorded } : record;
  }

  /**
   * The oldest open story of the namespace with the most of them; undefined if the new record's namespace would have at
   * least as many.
   */
  #ofLargestNamespace({ on: { namespace } }: DecisionRecord): readonly [string, Story] | undefined {
    const ofPods = [...this.#open].filter(([, { record }]) => record.on.namespace !== undefined);
    const own = ofPods.filter(([, { record }]) => record.on.namespace === namespace);
    const largest = largestNamespace(ofPods, ([, { record }]) => record);
    return largest.length > own.length + (namespace === undefined ? 0 : 1) ? largest[0] : undefined;
  }

  /**
   * Records a reason with the facts of the decision to which it first applied, or applied again after another reason or a
   * failure. A return to an earlier reason, as on a link that flaps, is stored with the next change.
   */
  #restrain(story: Story, { because, gate }: Grounds, restraint: Restraint): void {
    const { restraints, state } = story.record;
    const known = restraints.find((one) => isSameReason(one, restraint));
    const isHeld = state === "held" && restraints.length > 0;
    if (isHeld && known && known === restraints.at(-1) && ruleIn(known) === ruleIn(restraint)) return;
    const others = restraints.filter((one) => one !== known);
    const last = { ...restraint, since: known?.since ?? this.#now() };
    story.record = { ...story.record, because, gate, restraints: [...others, last] };
    const isCounted = restraints.some(({ why }) => why === restraint.why);
    if (!isCounted) this.#totals.set(restraint.why, (this.#totals.get(restraint.why) ?? 0) + 1);
    if (!isHeld) this.#change(story, "held");
    else {
      story.movedAt = this.#ambient.clock.now();
      if (known) story.isBehind = true;
      else this.#keep(story);
    }
  }

  /** Records that the act is no longer due after it was held back. A story that has failed since is left unchanged. */
  #lapse(id: string): void {
    const story = this.#open.get(id);
    if (story?.record.state !== "held") return;
    this.#open.delete(id);
    this.#change(story, "lapsed");
  }

  #begun({ on, by, term, grounds }: DecidedAct, heldBy: Story["heldBy"]): Story {
    const { act, board, because, gate } = grounds;
    const now = this.#now();
    const begun = { first: now, last: now, restraints: [], failures: 0 } as const;
    const record = {
      v: 1,
      ...(this.#pretence !== undefined && ({ shadow: true } as const)),
      ...(this.#pretence === "kubernetes" && ({ compared: "kubernetes" } as const)),
      act,
      on,
      board,
      by,
      leader: this.#board,
      term,
      because,
      gate,
      state: "held",
      ...begun,
    } as const;
    return { id: undefined, heldBy, record, movedAt: this.#ambient.clock.now(), isBehind: false };
  }

  #change(story: Story, state: StoryState): void {
    story.record = { ...story.record, state, last: this.#now() };
    story.movedAt = this.#ambient.clock.now();
    const { act, on, board, by, term, because, error } = story.record;
    const why = restraintNow(story.record)?.why;
    const fields = { act, object: subjectText(on), board, by, term, ...because, why, error };
    const sentence = storySentence(act, state, this.#pretence);
    if (state === "failed") this.#ambient.log.warn(sentence, fields);
    else this.#ambient.log.info(sentence, fields);
    this.#changes.add(story.record);
    this.#keep(story);
  }

  /** Marks the story to be stored with the next batch. */
  #keep(story: Story): void {
    this.#waiting.add(story);
    if (this.#waiting.size > maxWaiting) {
      // There are too many at once, or the disk fails or cannot keep up. The log still has the dropped story.
      const [dropped] = largestNamespace(this.#waiting, ({ record }) => record);
      if (dropped) this.#waiting.delete(dropped);
      this.#missing.drop();
    }
    this.#bell.ring();
  }

  #now(): StoredMoment {
    const { mono, wall } = this.#ambient.clock.now();
    return { at: isoTime(wall), boot: this.#boot, mono: Math.round(mono) };
  }
}

/** The stories of the namespace with the most of them, in their order. Those of boards count as those of one namespace. */
const largestNamespace = <T>(stories: Iterable<T>, recordOf: (story: T) => DecisionRecord): readonly T[] =>
  [...Map.groupBy(stories, (story) => recordOf(story).on.namespace).values()].reduce(
    (largest, one) => (one.length > largest.length ? one : largest),
    [],
  );

/** Whether the act deletes a pod that no kubelet has started. */
const isHarmless = ({ grounds }: Pick<DecidedAct, "grounds">): boolean => grounds.gate.newPod === true;

/** The rule of the verdict that holds an act; undefined if no verdict does. */
const ruleIn = (restraint: Restraint): string | undefined => (restraint.why === "verdict" ? restraint.rule : undefined);

const hasFailed = ({ record }: Story): boolean => record.state === "failed";

const storyId = ({ on, grounds }: Pick<DecidedAct, "on" | "grounds">): string => `${grounds.act} ${on.uid}`;
