import type { Memo } from "../../../storage/memo.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { ClockState } from "../../board/clock-sync.ts";
import type { SiteControls } from "../../commands/desk/controls.ts";
import type { Config } from "../../config/settings.ts";
import type { Status } from "../../status/schema.ts";
import { boardTopic, type FleetIdentity, siteTopic } from "../mqtt/topics.ts";
import { hashOf, leaderDocument, stampOf, timeToLive } from "./documents.ts";
import { isDue, type SentDocument } from "./gate.ts";
import type { State, States } from "./states.ts";
import { boardStatus, siteStatus } from "./status-document.ts";

export interface ReportsDeps {
  readonly identity: FleetIdentity;
  readonly config: Config;
  readonly memo: Memo;
  readonly states: States;
  readonly clockState: () => ClockState;
  readonly status: () => Status | undefined;
  readonly standing: SiteControls["standing"];
  /** Inventory, capabilities and limits; changes rarely. */
  readonly birth: () => JsonRecord;
  /** The report on the desired settings; undefined if the fleet has never sent any. */
  readonly reported: () => JsonRecord | undefined;
}

const area = "fleet";
const birthEvery: Millis = 86_400_000;
/** Interval between collections of the birth document; it changes rarely, and collecting it is costly. */
const birthCheck: Millis = 60_000;
const statusCheck: Millis = 5000;
/**
 * Session numbers survive restarts. In each session, document numbers start at the session number times this constant,
 * so that they only grow.
 */
const messagesPerSession = 1_000_000;

/** Documents that are not sent again after a reconnection or a restart unless they have changed. */
const lasting = ["birth", "reported"] as const;
type Lasting = (typeof lasting)[number];

/** Produces the documents about this board and, while it leads, about its site. `update` queues those that are due. */
export class Reports {
  readonly #deps: ReportsDeps;
  readonly #sent = new Map<string, SentDocument>();
  #numbers = 0;
  /**
   * Documents to be sent again because the broker does not have them. They have no entry in the stored memo either,
   * unless it could not be written.
   */
  readonly #forgotten = new Set<Lasting>();
  /** When the birth document was last collected. */
  #bornAt: Instant | undefined;
  /** The status as last read. */
  #seen: { readonly status: Status | undefined; readonly at: Instant } | undefined;
  /** The term in which this board leads, and when it last announced it. */
  #led: { readonly term: number; readonly since: Instant; at: Instant } | undefined;

  constructor(deps: ReportsDeps) {
    this.#deps = deps;
  }

  /** Resets for a new connection. If the broker lost the session, all documents are sent again. */
  begin(session: number, sessionPresent: boolean): void {
    this.#numbers = session * messagesPerSession;
    if (!sessionPresent) for (const name of lasting) this.#forget(name);
    this.#sent.delete("status");
    this.#sent.delete("site");
    this.#led = undefined;
    this.#bornAt = undefined;
    this.#seen = undefined;
  }

  /** Publishes the birth document again even if nothing has changed. */
  announce(): JsonRecord {
    this.#forget("birth");
    this.#bornAt = undefined;
    return this.#deps.birth();
  }

  /** Queues the documents that are due. */
  update(now: Instant): void {
    if (this.#bornAt === undefined || elapsed(this.#bornAt, now) >= birthCheck) {
      this.#bornAt = now;
      this.#birth(now);
    }
    this.#reported(now);
    const status = this.#deps.status();
    const isNew = status !== this.#seen?.status;
    if (isNew || this.#seen === undefined || elapsed(this.#seen.at, now) >= statusCheck) {
      this.#seen = { status, at: now };
      this.#status(now);
    }
    this.#site(now);
  }

  /** The announcement that this board no longer leads; undefined if it did not lead. */
  resignation(now: Instant): State | undefined {
    const led = this.#led;
    this.#led = undefined;
    return led && this.#leader(null, led.term, now);
  }

  #birth(now: Instant): void {
    const document = this.#deps.birth();
    const topic = boardTopic(this.#deps.identity, "birth");
    const sent = { ...document, hash: hashOf(document) };
    this.#lasting("birth", sent, now, { topic, expiry: timeToLive.birth, every: birthEvery });
  }

  #reported(now: Instant): void {
    const document = this.#deps.reported();
    const topic = boardTopic(this.#deps.identity, "config/reported");
    if (document) this.#lasting("reported", document, now, { topic, expiry: undefined, every: undefined });
  }

  /** Queues a lasting document if it changed, or if `every` has passed since it was last sent. */
  #lasting(
    name: Lasting,
    document: JsonRecord,
    now: Instant,
    {
      topic,
      expiry,
      every,
    }: { readonly topic: string; readonly expiry?: Millis | undefined; readonly every: Millis | undefined },
  ): void {
    const { memo } = this.#deps;
    const text = JSON.stringify(document);
    const last = this.#sent.get(name);
    if (last?.text === text && (every === undefined || elapsed(last.at, now) < every)) return;
    this.#sent.set(name, { text, at: now });
    const hash = hashOf(document);
    if (last === undefined && !this.#forgotten.has(name) && memo.get(area, name) === hash) return;
    this.#put(topic, document, now, expiry, () => {
      this.#forgotten.delete(name);
      memo.set(area, name, hash);
    });
  }

  /**
   * Marks a document to be sent again although it has not changed. The mark survives a restart if it can be written to
   * disk.
   */
  #forget(name: Lasting): void {
    this.#sent.delete(name);
    this.#forgotten.add(name);
    try {
      this.#deps.memo.delete(area, name);
    } catch {
      // The disk cannot be written, so this process remembers the mark in `#forgotten`.
    }
  }

  #status(now: Instant): void {
    const { identity, config, status } = this.#deps;
    const found = status();
    if (found) this.#gated("status", boardTopic(identity, "status"), boardStatus(found), config, now);
  }

  #site(now: Instant): void {
    const { identity, config, standing, status } = this.#deps;
    const { isLeader, term } = standing();
    if (!isLeader || term === undefined) {
      if (this.#led) {
        this.#deps.states.forget(siteTopic(identity, "status"));
        this.#sent.delete("site");
      }
      const goodbye = this.resignation(now);
      if (goodbye) this.#deps.states.put(goodbye);
      return;
    }
    const isNew = this.#led?.term !== term;
    if (isNew || this.#led === undefined) this.#led = { term, since: now, at: now };
    if (isNew || elapsed(this.#led.at, now) >= config.leader.duration) {
      this.#led.at = now;
      this.#deps.states.put(this.#leader(identity.board, term, now, this.#led.since));
    }
    this.#siteStatus(status(), term, now);
  }

  /** Queues the status of the site, unless the last status was written before this term began. */
  #siteStatus(found: Status | undefined, term: number, now: Instant): void {
    const { identity, config } = this.#deps;
    if (found?.leader?.role !== "leader" || found.leader.term !== term) return;
    this.#gated("site", siteTopic(identity, "status"), siteStatus(found), config, now, () => ({
      seq: ++this.#numbers,
    }));
  }

  #leader(holder: string | null, term: number, now: Instant, since?: Instant): State {
    const { identity, config, clockState } = this.#deps;
    const { leader } = this.#deps.status() ?? {};
    // The term may have begun before the connection, so its start as shown in the status takes precedence.
    const isKnown = leader?.role === "leader" && leader.term === term && leader.since !== undefined;
    const begun = since && { since: isKnown ? leader.since : stampOf(since, clockState()).at };
    const stamp = stampOf(now, clockState());
    const payload = leaderDocument({ holder, term, seq: ++this.#numbers, ...begun }, stamp);
    return { topic: siteTopic(identity, "leader"), payload, retain: true, expiry: 2 * config.leader.duration };
  }

  #gated(
    name: string,
    topic: string,
    document: JsonRecord,
    { mqtt }: Config,
    now: Instant,
    more: () => JsonRecord = () => ({}),
  ): void {
    const text = JSON.stringify(document);
    const limits = { minInterval: mqtt.minInterval, heartbeat: mqtt.heartbeat };
    if (!isDue(this.#sent.get(name), text, now, limits)) return;
    this.#sent.set(name, { text, at: now });
    this.#put(topic, { ...document, ...more() }, now, 3 * mqtt.heartbeat);
  }

  #put(topic: string, document: JsonRecord, now: Instant, expiry: Millis | undefined, delivered?: () => void): void {
    const payload = JSON.stringify({ v: 1, ...document, ...stampOf(now, this.#deps.clockState()) });
    this.#deps.states.put({ topic, payload, retain: true, expiry, ...(delivered && { delivered }) });
  }
}
