import type { KubeObject, NewObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant, Millis } from "../base/clock.ts";
import { type Disposition, dispositionOf, type HasDisposition } from "../base/errors.ts";
import type { Lane } from "../base/lanes.ts";
import { Permits } from "../base/permits.ts";
import { patiently } from "../base/postponed.ts";
import { isNotFound } from "../client/api-error.ts";
import type { Waiting } from "../client/kube-client.ts";
import { FencedError, fence } from "../election/fence.ts";
import type { Term } from "../loop/controller.ts";
import { type ActCount, ActCounts, actOf } from "./act-counts.ts";
import { type Action, type Cause, type EventAction, type ObjectRef, type Outcome, placeOf } from "./actions.ts";
import { type Chain, chainsOf, creates, OwnVersions } from "./chains.ts";

export interface Write extends Waiting {
  readonly signal: AbortSignal;
  readonly guard?: () => void;
}

/** The writing half of a KubeClient. */
export interface Writer {
  create<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string | undefined,
    object: NewObject,
    write: Write,
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

/** Takes Events without waiting. An EventRecorder is one. */
export interface Events {
  record(event: EventAction, term: Term): void;
}

/** An operator froze evictions after the decision. */
export class FrozenError extends Error implements HasDisposition {
  override readonly name = "FrozenError";
  readonly disposition = "refresh";
}

/** There was an outage after the site was observed: our verdict may no longer permit the act. */
export class OutdatedError extends Error implements HasDisposition {
  override readonly name = "OutdatedError";
  readonly disposition = "refresh";
}

/** The pass that asks for actions. */
export interface Asking {
  /** Name of the controller. */
  readonly by: string;
  /** When it observed the site. */
  readonly since: Instant;
  /** Called after each action. */
  readonly moved: () => void;
  /** Writes that have not been sent after this time are postponed; undefined: each waits for its turn. */
  readonly patience?: Millis | undefined;
  /** The lane in which writes wait for their turn; undefined: the first. */
  readonly lane?: Lane | undefined;
}

/** Performs decisions. An Executor does; a shadow mode may only report them. */
export interface Acts {
  execute(actions: readonly Action[], term: Term, asking: Asking): Promise<readonly Outcome[]>;
}

/** A pass whose actions are under way. */
interface Pass extends Omit<Asking, "by" | "patience"> {
  readonly by: string | undefined;
  /** Aborts when no further write may begin. */
  readonly patience: AbortSignal;
}

/** The action was not tried, because one that it builds on failed. It has the disposition of that error. */
export class NotAttemptedError extends Error implements HasDisposition {
  override readonly name = "NotAttemptedError";
  readonly disposition: Disposition;

  constructor(message: string, cause: Error) {
    super(message, { cause });
    this.disposition = dispositionOf(cause);
  }
}

/**
 * Performs the decisions of controllers, as long as the term stands.
 *
 * Every write names the object's uid and, if the decision rests on its state, its resourceVersion. Actions on one
 * object run in order, and those after a failed one are not attempted; creations of a decision start slowly (1, 2, 4,
 * …) and stop at the first batch with a failure; all others run side by side, within the bound that all controllers
 * share.
 */
export class Executor {
  readonly #ambient: Ambient;
  readonly #client: Writer;
  readonly #events: Events;
  readonly #inflight: number;
  readonly #isFrozen: (board: string) => boolean;
  readonly #isOutdated: (since: Instant) => boolean;
  readonly #permits: Permits;
  readonly #acts = new ActCounts();

  constructor(
    ambient: Ambient,
    parts: {
      readonly client: Writer;
      readonly events: Events;
      readonly inflight: number;
      /** Whether evictions from a board are frozen; undefined: never. */
      readonly isFrozen?: (board: string) => boolean;
      /** Whether an outage since that instant has made its observations void; undefined: never. */
      readonly isOutdated?: (since: Instant) => boolean;
    },
  ) {
    this.#ambient = ambient;
    this.#client = parts.client;
    this.#events = parts.events;
    this.#inflight = parts.inflight;
    this.#isFrozen = parts.isFrozen ?? (() => false);
    this.#isOutdated = parts.isOutdated ?? (() => false);
    this.#permits = new Permits(parts.inflight);
  }

  /** Counts of the harmful acts that went through, by kind. */
  acts(now: Instant): readonly ActCount[] {
    return this.#acts.list(now);
  }

  /** Never rejects; returns the outcomes in the order of the actions. Without `asking` they count as decided now. */
  async execute(actions: readonly Action[], term: Term, asking?: Asking): Promise<readonly Outcome[]> {
    const { clock } = this.#ambient;
    const pass = asking ?? { by: undefined, since: clock.now(), moved: () => {}, patience: undefined };
    const outcomes: Outcome[] = new Array(actions.length);
    const chains = chainsOf(actions);
    const rest = chains.filter((chain) => !creates(chain)).values();
    await patiently(clock, pass.patience, term.signal, async (patience) => {
      const run = (chain: Chain): Promise<Error | undefined> =>
        this.#chain(chain, outcomes, term, { ...pass, patience });
      const lanes = Array.from({ length: Math.min(this.#inflight, chains.length) }, async () => {
        for (const chain of rest) await run(chain);
      });
      await Promise.all([...lanes, slowStart(chains.filter(creates), run, outcomes)]);
    });
    return outcomes;
  }

  /** Returns the first failure. */
  async #chain(chain: Chain, outcomes: Outcome[], term: Term, pass: Pass): Promise<Error | undefined> {
    const versions = new OwnVersions();
    let failure: Error | undefined;
    for (const { action, index } of chain) {
      if (failure) {
        const error = new NotAttemptedError("an earlier act on the same object failed", failure);
        outcomes[index] = { action, ok: false, error };
        continue;
      }
      try {
        const object = await this.#perform(versions.carriedOver(action), term, pass);
        versions.wrote(action, object);
        const at = this.#ambient.clock.now();
        outcomes[index] = object === undefined ? { action, ok: true, at } : { action, ok: true, at, object };
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
        outcomes[index] = { action, ok: false, at: this.#ambient.clock.now(), error: failure };
      }
      pass.moved();
    }
    return failure;
  }

  async #perform(action: Action, term: Term, { by, since, patience, lane }: Pass): Promise<KubeObject | undefined> {
    const stands = fence(this.#ambient.clock, term);
    const guard = (): void => {
      stands();
      if (action.cause && this.#isOutdated(since)) throw new OutdatedError("the site was not heard meanwhile");
      if (evicts(action) && this.#isFrozen(action.cause.board)) {
        throw new FrozenError(`evictions from ${action.cause.board} are frozen`);
      }
    };
    guard();
    if (action.do === "event") {
      this.#events.record(action, term);
      return undefined;
    }
    if (!(await this.#permits.acquire(patience, lane))) {
      throw term.signal.aborted ? new FencedError(`term ${term.number} is over`) : patience.reason;
    }
    try {
      guard();
      const answer = await this.#write(action, { signal: term.signal, patience, lane, guard });
      const act = actOf(action, by);
      if (act) this.#acts.add(act, this.#ambient.clock.now());
      return answer;
    } finally {
      this.#permits.release(lane);
    }
  }

  async #write(action: Exclude<Action, EventAction>, write: Write): Promise<KubeObject | undefined> {
    switch (action.do) {
      case "create":
        return this.#client.create(action.resource, action.object.metadata.namespace, action.object, write);
      case "patch": {
        const { target, subresource } = action;
        const at = subresource === undefined ? placeOf(target) : { ...placeOf(target), subresource };
        return this.#client.patch(target.resource, at, action.type, withPreconditions(action.patch, target), write);
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

/** One creation, then two, then four: a rule or quota that refuses them all is asked once, not a hundred times. */
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

/** Harmful acts that remove pods: deletions, and the taint that leads to them. A not-ready mark removes none. */
const evicts = (action: Action): action is Action & { readonly cause: Cause } =>
  action.cause !== undefined &&
  (action.do === "delete" ||
    action.do === "evict" ||
    (action.do === "patch" && action.target.resource.kind === "Node"));

const preconditions = ({ uid, resourceVersion }: ObjectRef): { uid: string; resourceVersion?: string } =>
  resourceVersion === undefined ? { uid } : { uid, resourceVersion };

/** As part of the patch: the API refuses all of it if the stored uid or resourceVersion differs. */
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
