import type { KubeObject, NewObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant, Millis } from "../base/clock.ts";
import type { Lane } from "../base/concurrency/lanes.ts";
import { PrioritySemaphore } from "../base/concurrency/priority-semaphore.ts";
import { type Disposition, dispositionOf, type HasDisposition } from "../base/errors.ts";
import { isPostponed, patiently } from "../base/postponed.ts";
import { ApiError, isNotFound } from "../client/api-error.ts";
import type { Refusable, RequestWait } from "../client/kube-client.ts";
import type { Decisions } from "../decisions/decision-book.ts";
import type { Grounds } from "../decisions/grounds.ts";
import { type Act, type ActCount, ActCounts, actOf } from "./act-counts.ts";
import {
  type Action,
  boardToFreeze,
  dependsOnLiveWatch,
  type EventAction,
  isLimitedByValve,
  type ObjectRef,
  type Outcome,
  OutdatedError,
  placeOf,
  subjectOf,
} from "./actions.ts";
import { type Chain, chainsOf, creates, OwnVersions, purposeOf } from "./chains.ts";
import { FencedError, fence, type Term } from "./fence.ts";

export interface Write extends RequestWait, Refusable {
  readonly signal: AbortSignal;
  readonly guard?: () => void;
  /** The controller that decided, and when it observed the site; undefined for an operator's order. */
  readonly decided?: Pick<ActingPass, "by" | "since"> | undefined;
}

/** The writing half of a KubeClient. */
export interface Writer {
  create<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string | undefined,
    object: NewObject,
    write: Write & { readonly metadataOnly?: boolean },
  ): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource<T>,
    at: { namespace?: string; name: string; subresource?: "status" },
    type: "merge" | "strategic" | "json",
    patch: object,
    write: Write & { readonly metadataOnly?: boolean },
  ): Promise<T>;
  delete(
    resource: Resource<KubeObject>,
    at: { namespace?: string; name: string },
    options: { uid?: string; resourceVersion?: string; gracePeriodSeconds?: number },
    write: Write,
  ): Promise<void>;
  evict(at: { namespace: string; name: string }, options: { uid?: string }, write: Write): Promise<void>;
  bind(at: { namespace: string; name: string }, options: { uid?: string; board: string }, write: Write): Promise<void>;
}

/** Accepts Events and writes them later. Implemented by EventRecorder. */
export interface EventSink {
  record(event: EventAction, term: Term): void;
}

/** The act was not sent, because an operator froze evictions after the decision. */
export class FrozenError extends Error implements HasDisposition {
  override readonly name = "FrozenError";
  readonly disposition = "refresh";
}

/** The write was not sent, because the order that asked for it was over. */
export class OrderOverError extends Error implements HasDisposition {
  override readonly name = "OrderOverError";
  readonly disposition = "drop";
}

/** Limits the harmful acts of a site (docs/judgement.md#safety-valve). */
export interface SafetyValve {
  /**
   * Resolves, once the act is counted, to a function that must be called with the effect of the act. Rejects if the
   * valve holds the act. `namespace`: that of the pod; undefined if the act is the taint of a board.
   */
  admit(act: string, namespace: string | undefined): Promise<(effect: "done" | "uncertain" | "none") => void>;
}

/** The pass whose actions are executed. */
export interface ActingPass {
  /** Name of the controller. */
  readonly by: string;
  /** When the controller observed the site. */
  readonly since: Instant;
  /** Called after each action. */
  readonly moved: () => void;
  /** Writes not sent within this time are postponed; undefined if they wait without a limit. */
  readonly patience?: Millis | undefined;
  /** The lane in which writes wait for their turn; undefined for the first lane. */
  readonly lane?: Lane | undefined;
}

/** An operator's order whose actions are executed. */
export interface ActingOrder {
  /** Aborts when the order is over: nothing is sent after that, and a write already sent continues. */
  readonly isOver: AbortSignal;
}

/** Executes decisions. Implemented by Executor. */
export interface Acts {
  execute(actions: readonly Action[], term: Term, actingPass: ActingPass): Promise<readonly Outcome[]>;
}

/** A pass whose actions are being executed. */
interface Pass extends Omit<ActingPass, "by" | "patience">, Partial<ActingOrder> {
  readonly by: string | undefined;
  /** Aborts when no more writes may be sent. */
  readonly patience: AbortSignal;
}

/** The action was not attempted, because an earlier one failed. Its disposition is that of the earlier error. */
export class NotAttemptedError extends Error implements HasDisposition {
  override readonly name = "NotAttemptedError";
  readonly disposition: Disposition;

  constructor(message: string, cause: Error) {
    super(message, { cause });
    this.disposition = dispositionOf(cause);
  }
}

/**
 * Executes the decisions of controllers, as long as the term is valid.
 *
 * Every write requires the object's uid and, if the decision depends on the object's state, its resourceVersion.
 * Actions on one object run in order, and those after a failed one are not attempted. Creations of a decision start in
 * batches of 1, 2, 4, … and stop at the first batch with a failure. All other actions run concurrently, within a limit
 * that all controllers share.
 */
export class Executor {
  readonly #ambient: Ambient;
  readonly #client: Writer;
  readonly #events: EventSink;
  readonly #inflight: number;
  readonly #isFrozen: (board: string) => boolean;
  readonly #isOutdated: (since: Instant) => boolean;
  readonly #isPaused: (controller: string) => boolean;
  readonly #isBack: (grounds: Grounds) => boolean;
  readonly #valve: SafetyValve | undefined;
  readonly #decisions: Pick<Decisions, "acted"> | undefined;
  readonly #permits: PrioritySemaphore;
  readonly #acts = new ActCounts();

  constructor(
    ambient: Ambient,
    deps: {
      readonly client: Writer;
      readonly events: EventSink;
      readonly inflight: number;
      /** Whether evictions from a board are frozen; undefined if never. */
      readonly isFrozen?: (board: string) => boolean;
      /** Whether an outage has made observations from that instant invalid; undefined if never. */
      readonly isOutdated?: (since: Instant) => boolean;
      /** Whether an operator has paused a controller; undefined if none ever. */
      readonly isPaused?: (controller: string) => boolean;
      /** Whether the board for whose loss a pod is evicted or collected is back by now; undefined if that is not known. */
      readonly isBack?: (grounds: Grounds) => boolean;
      /** Admits each act that the valve limits; undefined if none is limited. */
      readonly valve?: SafetyValve | undefined;
      /** Records the outcome of acts with grounds; undefined if they are not recorded. */
      readonly decisions?: Pick<Decisions, "acted">;
    },
  ) {
    this.#ambient = ambient;
    this.#client = deps.client;
    this.#events = deps.events;
    this.#inflight = deps.inflight;
    this.#isFrozen = deps.isFrozen ?? (() => false);
    this.#isOutdated = deps.isOutdated ?? (() => false);
    this.#isPaused = deps.isPaused ?? (() => false);
    this.#isBack = deps.isBack ?? (() => false);
    this.#valve = deps.valve;
    this.#decisions = deps.decisions;
    this.#permits = new PrioritySemaphore(deps.inflight);
  }

  /** Counts of the successful harmful acts, by kind. */
  acts(now: Instant): readonly ActCount[] {
    return this.#acts.list(now);
  }

  /** Executes actions and returns their outcomes in the same order. Never rejects. Without a pass, `since` is now. */
  async execute(
    actions: readonly Action[],
    term: Term,
    acting?: ActingPass | ActingOrder,
  ): Promise<readonly Outcome[]> {
    const { clock } = this.#ambient;
    const unasked = { by: undefined, since: clock.now(), moved: () => {}, patience: undefined };
    const pass = acting && "by" in acting ? acting : { ...unasked, ...acting };
    const outcomes: Outcome[] = new Array(actions.length);
    const chains = chainsOf(actions);
    const rest = chains.filter((chain) => !creates(chain)).values();
    const end = "isOver" in pass ? AbortSignal.any([term.signal, pass.isOver]) : term.signal;
    await patiently(clock, pass.patience, end, async (patience) => {
      const run = (chain: Chain): Promise<Error | undefined> =>
        this.#chain(chain, outcomes, term, { ...pass, patience });
      const lanes = Array.from({ length: Math.min(this.#inflight, chains.length) }, async () => {
        for (const chain of rest) await run(chain);
      });
      await Promise.all([...lanes, slowStart(chains.filter(creates), run, outcomes)]);
    });
    return outcomes;
  }

  /**
   * Executes a chain and returns its first failure; undefined if there was none. If the valve holds an act, its whole
   * chain is skipped, because the other actions prepare the act or report it.
   */
  async #chain(chain: Chain, outcomes: Outcome[], term: Term, pass: Pass): Promise<Error | undefined> {
    const limited = this.#valve && chain.find(({ action }) => isLimited(action, pass.by));
    if (this.#valve === undefined || limited === undefined) return await this.#run(chain, outcomes, term, pass);
    const { action, index } = limited;
    try {
      fence(this.#ambient.clock, term)();
      const settle = await this.#valve.admit(nameOf(action, pass.by), namespaceOf(action));
      // The Lease now counts the act, so the act may take longer than the pass. The fence, an outage or a freeze can
      // still prevent it.
      const failure = await this.#run(chain, outcomes, term, { ...pass, patience: term.signal });
      settle(effectOf(outcomes[index]));
      return failure;
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      for (const { action, index } of chain) outcomes[index] = { action, ok: false, error };
      this.#record(outcomes[index], term, pass.by);
      pass.moved();
      return error;
    }
  }

  async #run(chain: Chain, outcomes: Outcome[], term: Term, pass: Pass): Promise<Error | undefined> {
    const versions = new OwnVersions();
    let failure: Error | undefined;
    /** Whether the mark was written that precedes the deletion of a collected pod. */
    let isBegun = false;
    for (const queued of chain) {
      const { action, index } = queued;
      if (failure) {
        const error = new NotAttemptedError("an earlier write to the same object failed", failure);
        outcomes[index] = { action, ok: false, error };
        continue;
      }
      let wasUncertain = false;
      const refused = ({ status }: ApiError): void => {
        if (status >= 500) wasUncertain = true;
      };
      try {
        const object = await this.#perform(versions.updated(action), purposeOf(chain, queued), term, {
          ...pass,
          refused,
          isBegun,
        });
        versions.wrote(action, object);
        isBegun ||= object !== undefined && purposeOf(chain, queued).grounds?.act === "pod-collected";
        const at = this.#ambient.clock.now();
        outcomes[index] = object === undefined ? { action, ok: true, at } : { action, ok: true, at, object };
      } catch (error) {
        failure = unlessOver(error, pass.isOver);
        outcomes[index] = { action, ok: false, at: this.#ambient.clock.now(), error: failure, wasUncertain };
      }
      pass.moved();
    }
    for (const { index } of chain) this.#record(outcomes[index], term, pass.by);
    return failure;
  }

  /**
   * Records the outcome of an act with grounds, unless the decision will be made again: by this board after a conflict,
   * or by the next leader after the end of the term.
   */
  #record(outcome: Outcome | undefined, term: Term, by: string | undefined): void {
    const action = outcome?.action;
    if (outcome === undefined || action === undefined || !("target" in action)) return;
    const { target, grounds } = action;
    if (this.#decisions === undefined || grounds === undefined || by === undefined) return;
    const act = { on: subjectOf(target), grounds, by, term: term.number };
    if (outcome.ok) this.#decisions.acted(act);
    else if (dispositionOf(outcome.error) !== "refresh" && term.standsAt(this.#ambient.clock.now())) {
      this.#decisions.acted(act, outcome.error);
    }
  }

  async #perform(
    action: Action,
    purpose: Action,
    term: Term,
    pass: Pass & Refusable & { readonly isBegun: boolean },
  ): Promise<KubeObject | undefined> {
    const { by, since, patience, lane, isOver, refused, isBegun } = pass;
    const stands = fence(this.#ambient.clock, term);
    const board = boardToFreeze(purpose);
    const guard = (): void => {
      stands();
      isOver?.throwIfAborted();
      if (dependsOnLiveWatch(purpose) && this.#isOutdated(since))
        throw new OutdatedError("an outage began after the site was read");
      // A kubelet ends a pod that is marked as failed, so its deletion only completes what has been done.
      if (isBegun) return;
      // A pass may collect hundreds of pods, and each request waits for its turn.
      if (purpose.grounds !== undefined && this.#isBack(purpose.grounds))
        throw new OutdatedError(`${purpose.grounds.board} is back`);
      if (board !== undefined && this.#isFrozen(board)) throw new FrozenError(`evictions from ${board} are frozen`);
      if (by !== undefined && this.#isPaused(by)) throw new FrozenError(`${by} is paused`);
    };
    guard();
    if (action.do === "event") {
      this.#events.record(action, term);
      return undefined;
    }
    if (!(await this.#permits.acquire(patience, lane))) {
      throw term.signal.aborted ? new FencedError(`term ${term.number} has ended`) : patience.reason;
    }
    try {
      guard();
      const decided = by === undefined ? undefined : { by, since };
      const answer = await this.#write(action, { signal: term.signal, patience, lane, guard, refused, decided });
      const act = actOf(action, by);
      if (act && !action.cause?.isHarmless) this.#acts.add(act, this.#ambient.clock.now());
      return answer;
    } finally {
      this.#permits.release(lane);
    }
  }

  /**
   * Sends the write, and returns only the identity of the written object: pods may be as large as the API server
   * admits.
   */
  async #write(action: Exclude<Action, EventAction>, write: Write): Promise<KubeObject | undefined> {
    const briefly = { ...write, metadataOnly: true };
    switch (action.do) {
      case "create": {
        const { namespace } = action.object.metadata;
        return identityOf(await this.#client.create(action.resource, namespace, action.object, briefly));
      }
      case "patch": {
        const { target, subresource } = action;
        const at = subresource === undefined ? placeOf(target) : { ...placeOf(target), subresource };
        const patch = withPreconditions(action.patch, target);
        return identityOf(await this.#client.patch(target.resource, at, action.type, patch, briefly));
      }
      case "delete": {
        const { target, gracePeriodSeconds } = action;
        const grace = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
        const options = { ...preconditions(target), ...grace };
        await unlessGone(this.#client.delete(target.resource, placeOf(target), options, write));
        return undefined;
      }
      case "evict": {
        const { namespace = "default", name, uid } = action.target;
        await unlessGone(this.#client.evict({ namespace, name }, { uid }, write));
        return undefined;
      }
      case "bind": {
        const { namespace = "default", name, uid } = action.target;
        await this.#client.bind({ namespace, name }, { uid, board: action.board }, write);
        return undefined;
      }
    }
  }
}

/**
 * Runs one creation, then two, then four, …, so that a quota that refuses all of them causes one failed request, not a
 * hundred.
 */
async function slowStart(
  chains: readonly Chain[],
  run: (chain: Chain) => Promise<Error | undefined>,
  outcomes: Outcome[],
): Promise<void> {
  for (let from = 0, size = 1; from < chains.length; from += size, size *= 2) {
    const failures = await Promise.all(chains.slice(from, from + size).map(run));
    const failure = failures.find((error) => error !== undefined);
    if (!failure) continue;
    for (const { action, index } of chains.slice(from + size).flat()) {
      outcomes[index] = { action, ok: false, error: new NotAttemptedError("an earlier creation failed", failure) };
    }
    return;
  }
}

const identityOf = ({ metadata: { name, namespace, uid, resourceVersion } }: KubeObject): KubeObject => ({
  metadata: { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }) },
});

/**
 * Whether the safety valve limits an act. Marking pods not ready and withdrawing endpoints are not limited, because the
 * next heartbeat reverses them.
 */
function isLimited(action: Action, by: string | undefined): boolean {
  if (action.do === "event" || action.cause === undefined || !isLimitedByValve(action.cause)) return false;
  const act = actOf(action, by);
  return act !== undefined && limitedActs.has(act);
}

const limitedActs: ReadonlySet<Act> = new Set(["board-tainted", "pod-evicted", "pod-collected", "pod-replaced"]);

/** The name by which the valve recognises a repeated act. */
const nameOf = (action: Action, by: string | undefined): string =>
  `${by} ${action.do} ${"target" in action ? action.target.uid : ""}`;

/** The namespace of the pod that an act deletes; undefined for the taint of a board. */
const namespaceOf = (action: Action): string | undefined =>
  "target" in action && action.target.resource.kind === "Pod" ? action.target.namespace : undefined;

/**
 * The effect of an act by its outcome. An act that was sent and not refused may take effect. If it was sent again, the
 * refusal is that of the last attempt, and may be due to the effect of an earlier one: a conflict with our own write.
 */
export function effectOf(outcome: Outcome | undefined): "done" | "uncertain" | "none" {
  if (outcome === undefined) return "uncertain";
  if (outcome.ok) return "done";
  const { error, wasUncertain } = outcome;
  if (wasUncertain) return "uncertain";
  const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500;
  return isRefused || isPostponed(error) || unsent.some((kind) => error instanceof kind) ? "none" : "uncertain";
}

const unsent = [FencedError, FrozenError, OutdatedError, NotAttemptedError, OrderOverError];

/** The error, unless it only says that the order is over: requests that wait end with the reason of their signal. */
function unlessOver(error: unknown, isOver: AbortSignal | undefined): Error {
  if (isOver?.aborted && error === isOver.reason) {
    return new OrderOverError("the order was over before the write was sent", { cause: error });
  }
  return error instanceof Error ? error : new Error(String(error));
}

const preconditions = ({ uid, resourceVersion }: ObjectRef): { uid: string; resourceVersion?: string } =>
  resourceVersion === undefined ? { uid } : { uid, resourceVersion };

/** The patch with its preconditions: the API refuses it if the stored uid or resourceVersion differs. */
function withPreconditions(patch: object, target: ObjectRef): object {
  const metadata = "metadata" in patch && typeof patch.metadata === "object" ? patch.metadata : {};
  return { ...patch, metadata: { ...metadata, ...preconditions(target) } };
}

async function unlessGone(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
