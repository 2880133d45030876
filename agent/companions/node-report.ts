import type { Node } from "../api/core.ts";
import { compareVersions } from "../api/resource-version.ts";
import { nodes } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { backoff } from "../base/backoff.ts";
import { deadline, elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import { isRecord, recordIn } from "../base/json.ts";
import type { KeyValueStore } from "../base/key-value-store.ts";
import { jitter } from "../base/random.ts";
import { isoTime } from "../base/time/iso-time.ts";
import type { WantedCondition } from "../board/node-conditions.ts";
import { siteAnnotation, standbyAnnotation, standsBy, versionAnnotation } from "../board/sick-leader.ts";
import { isNotFound, isOfLink, isOvertaken } from "../client/api-error.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { collisionProblem } from "../status/collision-problem.ts";
import type { StatusContribution } from "../status/contribution.ts";
import { witnessAnnotation } from "../witness/announcement.ts";
import type { Companion } from "./companion.ts";

export interface NodeReportDeps {
  readonly client: Pick<KubeClient, "get" | "patch">;
  /** The board's own Node. */
  readonly node: string;
  /** The agent's version, for comparing the boards of a site. */
  readonly version: string;
  /** Namespace and name of the site's Lease. */
  readonly lease: string;
  /** The conditions to report; undefined before the sensors have been read. */
  readonly conditions: (now: Instant) => readonly WantedCondition[] | undefined;
  /** Why this board could not take over as leader now; undefined if it could. */
  readonly obstacle: () => string | undefined;
  /** Whether an operator has ordered this board not to stand for election for a while. */
  readonly isResting: () => boolean;
  /** The addresses at which this board answers on the LAN, and its key; undefined if it does not answer. */
  readonly announcement: () => string | undefined;
  /** The board's own Node in a cache that follows its changes; undefined without one. */
  readonly cached: () => Node | undefined;
  /** Whether the site's Lease shows that another process with this board's name leads. */
  readonly isLedByCopy: () => boolean;
  readonly facts: KeyValueStore;
}

/** The values last written to the Node. */
interface Written {
  readonly uid: string;
  /** The status of each condition ("True", "False"), by its type. */
  readonly conditions: Readonly<Record<string, string>>;
  /** The standby annotation; undefined if the Node has none. */
  readonly standby: string | undefined;
  /** The witness annotation; undefined if the Node has none. */
  readonly witness: string | undefined;
}

const period: Millis = 15_000;
/** Minimum interval between writes of conditions, except for the first. */
const conditionsEvery: Millis = 300_000;
/** Minimum interval between writes of the standby annotation. */
const standbyEvery: Millis = 60_000;
/** Minimum interval between writes of the witness annotation, which depends on the board's addresses. */
const announceEvery: Millis = 60_000;
/** A condition that was already True at the start is cleared only after the sensors have been read for this long. */
const sensorsSettle: Millis = 660_000;
/** Interval between reads of the Node, which may have been recreated. */
const verifyEvery: Millis = 3_600_000;
/** Interval between reads of the Node while another process with this board's name may be running. */
const verifySuspected: Millis = 600_000;
/**
 * A foreign announcement is suspicious for this long; a second one in that time proves that there is a second process.
 */
const suspicion: Millis = 86_400_000;
/**
 * A collision is reported until no foreign announcement has been found for this long. Each of the two processes finds
 * the other's announcement within 20 minutes.
 */
const collisionLasts: Millis = 1_800_000;
const pauses = { first: 30_000, max: 900_000 };
/** The pause after a failure of the link, so that a new address is announced soon after the link is back. */
const linkPause: Millis = 30_000;
/** Time limit for the write on shutdown. */
const farewellTimeout: Millis = 1_500;

/**
 * Writes the board's health and standby state to its own Node, but only changes, and at most every few minutes. The
 * values written are stored, so that a restart needs one small read and no write.
 */
export class NodeReport implements Companion {
  readonly name = "node report";
  readonly #ambient: Ambient;
  readonly #deps: NodeReportDeps;
  readonly #startedAt: Instant;
  #written: Written | undefined;
  #verifiedAt: Instant | undefined;
  #conditionsAt: Instant | undefined;
  #standbyAt: Instant | undefined;
  #announcedAt: Instant | undefined;
  /** The announcement that this process last wrote or found as its own. */
  #own: string | undefined;
  /** The version of the Node up to which its announcement has been examined. */
  #examined: string | undefined;
  /** The last two instants at which a foreign announcement was found in place of this process's own. */
  #foreign: readonly Instant[] = [];
  #failures = 0;

  constructor(ambient: Ambient, deps: NodeReportDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#startedAt = ambient.clock.now();
  }

  contribution(now: Instant): StatusContribution {
    if (!this.#isCollision(now) || this.#deps.isLedByCopy()) return {};
    const message = `another process keeps overwriting this board's announcement on Node ${this.#deps.node}: two boards have the same name`;
    return { problems: [collisionProblem(message)] };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#ambient;
    this.#written = parsed(this.#deps.facts.get(area, key));
    // A random delay, because the boards of a site are often switched on together.
    await sleep(clock, period * (1 + random.next()), signal);
    while (!signal.aborted) {
      let pause = period;
      try {
        await this.#pass(signal);
        this.#failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        if (isOvertaken(error) || isNotFound(error)) this.#forget();
        this.#failures++;
        // `ApiLink` reports errors of the link.
        const isFirst = this.#failures === 1;
        log[isFirst && !isOfLink(error) ? "warn" : "debug"]("report on the board's Node not written", { error });
        pause = jitter(random, isOfLink(error) ? linkPause : backoff(this.#failures, pauses), 0.5);
      }
      await sleep(clock, pause, signal);
    }
    await this.#writeStopped();
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const now = this.#ambient.clock.now();
    const every = this.#isSuspicious(now) || this.#deps.isLedByCopy() ? verifySuspected : verifyEvery;
    if (isOver(this.#verifiedAt, every, now) || this.#isReplaced()) await this.#verify(now, signal);
    this.#lookAtCache(now);
    // First, because a board that has not announced itself before its link fails cannot be asked on the LAN.
    if (isOver(this.#announcedAt, announceEvery, now)) await this.#announce(now, signal);
    const wanted = this.#deps.conditions(now);
    const changed = wanted?.filter((condition) => this.#isDue(condition, now)) ?? [];
    if (changed.length > 0 && isOver(this.#conditionsAt, conditionsEvery, now)) {
      await this.#writeConditions(changed, now, signal);
      this.#conditionsAt = now;
    }
    const ableToLead = this.#deps.isResting() ? "resting" : standsBy;
    const standby = this.#deps.obstacle() === undefined ? ableToLead : "unwell";
    if (standby !== this.#written?.standby && isOver(this.#standbyAt, standbyEvery, now)) {
      await this.#writeStandby(standby, signal);
      this.#standbyAt = now;
    }
  }

  #isDue({ type, status }: WantedCondition, now: Instant): boolean {
    const before = this.#written?.conditions[type];
    const isCleared = before === "True" && status === "False";
    return before !== status && (!isCleared || elapsed(this.#startedAt, now) >= sensorsSettle);
  }

  /** Reads the Node, because it may have been recreated or edited since the last write. */
  async #verify(now: Instant, signal: AbortSignal): Promise<void> {
    const { client, node } = this.#deps;
    const { metadata } = await client.get<Node>(nodes, { name: node, metadataOnly: true }, signal);
    const { uid = "", annotations } = metadata;
    const conditions = this.#written?.uid === uid ? this.#written.conditions : {};
    const [standby, witness] = [annotations?.[standbyAnnotation], annotations?.[witnessAnnotation]];
    // A former process of this board may have written the stored announcement.
    this.#own ??= this.#written?.witness;
    this.#examine(metadata, now);
    this.#remember({ uid, conditions, standby, witness });
    this.#verifiedAt = now;
  }

  /**
   * Checks the cached Node, which shows sooner than the next read that another process has replaced the announcement.
   */
  #lookAtCache(now: Instant): void {
    const { metadata } = this.#deps.cached() ?? {};
    if (metadata === undefined || !this.#examine(metadata, now)) return;
    this.#remember({ ...(this.#written ?? neverWritten), witness: metadata.annotations?.[witnessAnnotation] });
  }

  /**
   * Whether another process has replaced this process's announcement on this Node; false if the Node is no newer than
   * the last one examined. An announcement that was removed proves nothing.
   */
  #examine(metadata: Node["metadata"], now: Instant): boolean {
    const { uid, resourceVersion, annotations } = metadata;
    if (uid !== this.#written?.uid || !this.#isNew(metadata)) return false;
    this.#examined = resourceVersion ?? this.#examined;
    const witness = annotations?.[witnessAnnotation];
    const isOwn = witness === undefined || this.#own === undefined || witness === this.#own;
    if (isOwn || this.#written.witness !== this.#own) return false;
    this.#foreign = [...this.#foreign, now].slice(-2);
    this.#ambient.log.warn("another process has written the announcement of this board", { node: this.#deps.node });
    return true;
  }

  /** Whether the cache shows another Node with this name: it was deleted, and the kubelet registered again. */
  #isReplaced(): boolean {
    const { metadata } = this.#deps.cached() ?? {};
    return metadata !== undefined && metadata.uid !== this.#written?.uid && this.#isNew(metadata);
  }

  /** Whether this version of the Node is newer than the last one examined. */
  #isNew({ resourceVersion }: Node["metadata"]): boolean {
    if (this.#examined === undefined || resourceVersion === undefined) return true;
    return compareVersions(resourceVersion, this.#examined) > 0;
  }

  #isSuspicious(now: Instant): boolean {
    const last = this.#foreign.at(-1);
    return last !== undefined && elapsed(last, now) < suspicion;
  }

  /** Whether this process and another one keep replacing each other's announcement. */
  #isCollision(now: Instant): boolean {
    const [first, second] = this.#foreign;
    if (first === undefined || second === undefined) return false;
    return elapsed(first, second) < suspicion && elapsed(second, now) < collisionLasts;
  }

  async #writeConditions(changed: readonly WantedCondition[], now: Instant, signal: AbortSignal): Promise<void> {
    // The heartbeat time is written only once per change, because liveness is judged by the board's Lease.
    const time = isoTime(now.wall).replace(/\.\d+Z$/, "Z");
    const conditions = changed.map((one) => ({ ...one, lastTransitionTime: time, lastHeartbeatTime: time }));
    const written = this.#written ?? neverWritten;
    await this.#patch({ metadata: { uid: written.uid }, status: { conditions } }, { subresource: "status" }, signal);
    const states = Object.fromEntries(changed.map(({ type, status }) => [type, status]));
    this.#remember({ ...written, conditions: { ...written.conditions, ...states } });
    this.#ambient.log.info("Node conditions written", states);
  }

  async #writeStandby(standby: string, signal: AbortSignal): Promise<void> {
    const written = this.#written ?? neverWritten;
    const { version, lease } = this.#deps;
    const annotations = { [standbyAnnotation]: standby, [versionAnnotation]: version, [siteAnnotation]: lease };
    const metadata = { uid: written.uid, annotations };
    await this.#patch({ metadata }, {}, signal);
    this.#remember({ ...written, standby });
  }

  async #announce(now: Instant, signal: AbortSignal): Promise<void> {
    const written = this.#written ?? neverWritten;
    const witness = this.#deps.announcement();
    if (witness !== written.witness) {
      const annotations = { [witnessAnnotation]: witness ?? null };
      await this.#patch({ metadata: { uid: written.uid, annotations } }, {}, signal);
      this.#remember({ ...written, witness });
      this.#announcedAt = now;
    }
    this.#own = witness;
  }

  /** A strategic merge keeps conditions of other writers. The uid in the patch makes it fail for a recreated Node. */
  async #patch(patch: object, at: { readonly subresource?: "status" }, signal: AbortSignal): Promise<void> {
    const { client, node } = this.#deps;
    const options = { signal, metadataOnly: true } as const;
    const { metadata } = await client.patch<Node>(nodes, { name: node, ...at }, "strategic", patch, options);
    this.#examined = metadata.resourceVersion ?? this.#examined;
  }

  /**
   * Marks the board as stopped, so that no leader steps down in its favour. If this fails, others learn later that the
   * board's Node is not ready.
   */
  async #writeStopped(): Promise<void> {
    if (this.#written?.standby !== standsBy || this.#failures > 0) return;
    const bound = deadline(
      this.#ambient.clock,
      farewellTimeout,
      new AbortController().signal,
      () => new Error("too late"),
    );
    try {
      await this.#writeStandby("stopped", bound.signal);
    } catch (error) {
      this.#ambient.log.debug("standby annotation not updated on shutdown", { error });
    } finally {
      bound.dispose();
    }
  }

  #forget(): void {
    this.#written = undefined;
    this.#verifiedAt = undefined;
  }

  #remember(written: Written): void {
    this.#written = written;
    this.#deps.facts.set(area, key, JSON.stringify(written));
  }
}

const [area, key] = ["node-report", "written"];
const neverWritten: Written = { uid: "", conditions: {}, standby: undefined, witness: undefined };

const isOver = (at: Instant | undefined, pause: Millis, now: Instant): boolean =>
  at === undefined || elapsed(at, now) >= pause;

/** Parses the values that a previous process stored; undefined if unusable. The Node is read before the first write. */
function parsed(text: string | undefined): Written | undefined {
  const { uid, conditions, standby, witness } = recordIn(text ?? "") ?? {};
  if (!isRecord(conditions) || typeof uid !== "string") return undefined;
  const states = Object.entries(conditions).map(([type, status]) => [type, String(status)] as const);
  return {
    uid,
    conditions: Object.fromEntries(states),
    standby: typeof standby === "string" ? standby : undefined,
    witness: typeof witness === "string" ? witness : undefined,
  };
}
