import type { Node } from "../api/core.ts";
import { nodes } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { backoff } from "../base/backoff.ts";
import { deadline, elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { Facts } from "../base/facts.ts";
import { isoTime } from "../base/iso-time.ts";
import { isRecord, recordIn } from "../base/json.ts";
import { jitter } from "../base/random.ts";
import type { WantedCondition } from "../board/node-conditions.ts";
import { siteAnnotation, standbyAnnotation, standsBy, versionAnnotation } from "../board/sick-leader.ts";
import { isNotFound, isOfLink, isOvertaken } from "../client/api-error.ts";
import type { KubeClient } from "../client/kube-client.ts";

export interface NodeReportParts {
  readonly client: Pick<KubeClient, "get" | "patch">;
  /** The board's own Node. */
  readonly node: string;
  /** The agent's version, for comparing the boards of a site. */
  readonly version: string;
  /** The key of the site's Lease. */
  readonly lease: string;
  /** undefined: the sensors have not been read yet. */
  readonly conditions: (now: Instant) => readonly WantedCondition[] | undefined;
  /** Why this board could not take over now; undefined: it could. */
  readonly obstacle: () => string | undefined;
  readonly facts: Facts;
}

/** What was last written to the Node. */
interface Written {
  readonly uid: string;
  /** Condition status by type. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly standby: string | undefined;
}

const look: Millis = 15_000;
/** Minimum interval between writes of conditions, except for the first. */
const betweenWrites: Millis = 300_000;
/** Minimum interval between writes of the annotation. */
const betweenSwitches: Millis = 60_000;
/** How long the sensors must have run before a condition from before the start is cleared. */
const settledAfter: Millis = 660_000;
/** The Node may have been recreated in the meantime. */
const verifyEvery: Millis = 43_200_000;
const pauses = { first: 30_000, most: 900_000 };
/** Limit for the last write on shutdown. */
const lastWord: Millis = 1_500;

/**
 * Reports the board's health and standby state on its own Node: on change only, and at most every few minutes. The last
 * write is persisted, so that a restart costs one small read and no write.
 */
export class NodeReport {
  readonly name = "node report";
  readonly #ambient: Ambient;
  readonly #parts: NodeReportParts;
  readonly #startedAt: Instant;
  #written: Written | undefined;
  #verified: Instant | undefined;
  #conditionsAt: Instant | undefined;
  #standbyAt: Instant | undefined;
  #failures = 0;

  constructor(ambient: Ambient, parts: NodeReportParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#startedAt = ambient.clock.now();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#ambient;
    this.#written = parsed(this.#parts.facts.get(area, key));
    // The boards of a site are often switched on together.
    await sleep(clock, look * (1 + random.next()), signal);
    while (!signal.aborted) {
      let pause = look;
      try {
        await this.#pass(signal);
        this.#failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        if (isOvertaken(error) || isNotFound(error)) this.#forget();
        this.#failures++;
        // Link errors are reported elsewhere; a missing Node is reported only here.
        const isFirst = this.#failures === 1;
        log[isFirst && !isOfLink(error) ? "warn" : "debug"]("the board's Node is not written", { error });
        pause = jitter(random, backoff(this.#failures, pauses), 0.5);
      }
      await sleep(clock, pause, signal);
    }
    await this.#sayGoodbye();
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const now = this.#ambient.clock.now();
    if (!this.#verified || elapsed(this.#verified, now) >= verifyEvery) await this.#verify(now, signal);
    const wanted = this.#parts.conditions(now);
    const changed = wanted?.filter((condition) => this.#isDue(condition, now)) ?? [];
    if (changed.length > 0 && isOver(this.#conditionsAt, betweenWrites, now)) {
      await this.#writeConditions(changed, now, signal);
      this.#conditionsAt = now;
    }
    const standby = this.#parts.obstacle() === undefined ? standsBy : "unwell";
    if (standby !== this.#written?.standby && isOver(this.#standbyAt, betweenSwitches, now)) {
      await this.#writeStandby(standby, signal);
      this.#standbyAt = now;
    }
  }

  #isDue({ type, status }: WantedCondition, now: Instant): boolean {
    const before = this.#written?.conditions[type];
    const isTakenBack = before === "True" && status === "False";
    return before !== status && (!isTakenBack || elapsed(this.#startedAt, now) >= settledAfter);
  }

  /** A recreated or manually cleaned Node lacks what we wrote. */
  async #verify(now: Instant, signal: AbortSignal): Promise<void> {
    const { client, node } = this.#parts;
    const { metadata } = await client.get<Node>(nodes, { name: node, metadataOnly: true }, signal);
    const { uid = "", annotations } = metadata;
    const conditions = this.#written?.uid === uid ? this.#written.conditions : {};
    this.#remember({ uid, conditions, standby: annotations?.[standbyAnnotation] });
    this.#verified = now;
  }

  async #writeConditions(changed: readonly WantedCondition[], now: Instant, signal: AbortSignal): Promise<void> {
    // The heartbeat is never renewed: liveness follows from the board's Lease.
    const time = isoTime(now.wall).replace(/\.\d+Z$/, "Z");
    const conditions = changed.map((one) => ({ ...one, lastTransitionTime: time, lastHeartbeatTime: time }));
    const written = this.#written ?? nothing;
    await this.#patch({ metadata: { uid: written.uid }, status: { conditions } }, { subresource: "status" }, signal);
    const states = Object.fromEntries(changed.map(({ type, status }) => [type, status]));
    this.#remember({ ...written, conditions: { ...written.conditions, ...states } });
    this.#ambient.log.info("conditions of the Node written", states);
  }

  async #writeStandby(standby: string, signal: AbortSignal): Promise<void> {
    const written = this.#written ?? nothing;
    const { version, lease } = this.#parts;
    const annotations = { [standbyAnnotation]: standby, [versionAnnotation]: version, [siteAnnotation]: lease };
    const metadata = { uid: written.uid, annotations };
    await this.#patch({ metadata }, {}, signal);
    this.#remember({ ...written, standby });
  }

  /**
   * Strategic merge keeps the conditions of others. The uid makes a recreated Node of the same name refuse the patch.
   */
  async #patch(patch: object, at: { readonly subresource?: "status" }, signal: AbortSignal): Promise<void> {
    const { client, node } = this.#parts;
    await client.patch<Node>(nodes, { name: node, ...at }, "strategic", patch, { signal, metadataOnly: true });
  }

  /**
   * Marks the board as stopped, so that no other board counts on it. If this cannot be written in time, the site
   * notices by itself.
   */
  async #sayGoodbye(): Promise<void> {
    if (this.#written?.standby !== standsBy || this.#failures > 0) return;
    const bound = deadline(this.#ambient.clock, lastWord, new AbortController().signal, () => new Error("too late"));
    try {
      await this.#writeStandby("stopped", bound.signal);
    } catch (error) {
      this.#ambient.log.debug("the Node still says that this board stands by", { error });
    } finally {
      bound.dispose();
    }
  }

  #forget(): void {
    this.#written = undefined;
    this.#verified = undefined;
  }

  #remember(written: Written): void {
    this.#written = written;
    this.#parts.facts.set(area, key, JSON.stringify(written));
  }
}

const [area, key] = ["node-report", "written"];
const nothing: Written = { uid: "", conditions: {}, standby: undefined };

const isOver = (at: Instant | undefined, pause: Millis, now: Instant): boolean =>
  at === undefined || elapsed(at, now) >= pause;

/** Parses what a previous process stored. Unusable text counts as absent: the Node is read before it is written. */
function parsed(text: string | undefined): Written | undefined {
  const { uid, conditions, standby } = recordIn(text ?? "") ?? {};
  if (!isRecord(conditions) || typeof uid !== "string") return undefined;
  const states = Object.entries(conditions).map(([type, status]) => [type, String(status)] as const);
  return { uid, conditions: Object.fromEntries(states), standby: typeof standby === "string" ? standby : undefined };
}
