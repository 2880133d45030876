import type { Memo } from "../../storage/memo.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { JsonRecord } from "../base/json.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { SiteControls } from "../commands/desk/controls.ts";
import type { Config } from "../config/settings.ts";
import type { Status } from "../status/schema.ts";
import { hashOf, leaderDocument, stampOf, timeToLive } from "./documents.ts";
import { isDue, type Sent } from "./gate.ts";
import type { State, States } from "./states.ts";
import { boardStatus, siteStatus } from "./status-document.ts";
import { boardTopic, type Identity, siteTopic } from "./topics.ts";

export interface ReportParts {
  readonly identity: Identity;
  readonly config: Config;
  readonly memo: Memo;
  readonly states: States;
  readonly clockState: () => ClockState;
  readonly status: () => Status | undefined;
  readonly standing: SiteControls["standing"];
  /** Inventory, capabilities and limits; changes rarely. */
  readonly birth: () => JsonRecord;
  /** The report on the desired settings; undefined: there never were any. */
  readonly reported: () => JsonRecord | undefined;
}

const area = "fleet";
const birthEvery: Millis = 86_400_000;
/** The birth changes rarely and is costly to collect. */
const birthLook: Millis = 60_000;
const statusLook: Millis = 5000;
/** The session number survives restarts, so numbers within a session need not. */
const messagesPerSession = 1_000_000;

/** Documents that stay retained until they change. */
const lasting = ["birth", "reported"] as const;
type Lasting = (typeof lasting)[number];

/** Produces the documents about this board and, while it leads, about its site. `look` queues those that are due. */
export class Reports {
  readonly #parts: ReportParts;
  readonly #sent = new Map<string, Sent>();
  #numbers = 0;
  /** Documents missing at the broker, whatever the memo says. */
  readonly #forgotten = new Set<Lasting>();
  #bornAt: Instant | undefined;
  #seen: { readonly status: Status | undefined; readonly at: Instant } | undefined;
  #led: { readonly term: number; readonly since: Instant; at: Instant } | undefined;

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  /** Resets for a new connection. If the broker lost our session, all documents are sent again. */
  begin(session: number, sessionPresent: boolean): void {
    this.#numbers = session * messagesPerSession;
    if (!sessionPresent) for (const name of lasting) this.#forget(name);
    this.#sent.delete("status");
    this.#sent.delete("site");
    this.#led = undefined;
    this.#bornAt = undefined;
    this.#seen = undefined;
  }

  /** Publishes the birth again although nothing changed. */
  announce(): JsonRecord {
    this.#forget("birth");
    this.#bornAt = undefined;
    return this.#parts.birth();
  }

  look(now: Instant): void {
    if (this.#bornAt === undefined || elapsed(this.#bornAt, now) >= birthLook) {
      this.#bornAt = now;
      this.#birth(now);
    }
    this.#reported(now);
    const status = this.#parts.status();
    const isNew = status !== this.#seen?.status;
    if (isNew || this.#seen === undefined || elapsed(this.#seen.at, now) >= statusLook) {
      this.#seen = { status, at: now };
      this.#status(now);
    }
    this.#site(now);
  }

  /** The former leader's goodbye, if this board led; the next leader announces itself. */
  resignation(now: Instant): State | undefined {
    const led = this.#led;
    this.#led = undefined;
    return led && this.#leader(null, led.term, now);
  }

  #birth(now: Instant): void {
    const document = this.#parts.birth();
    const topic = boardTopic(this.#parts.identity, "birth");
    const sent = { ...document, hash: hashOf(document) };
    this.#lasting("birth", sent, now, { topic, expiry: timeToLive.birth, every: birthEvery });
  }

  #reported(now: Instant): void {
    const document = this.#parts.reported();
    const topic = boardTopic(this.#parts.identity, "config/reported");
    if (document) this.#lasting("reported", document, now, { topic, expiry: undefined, every: undefined });
  }

  /**
   * Queues a lasting document, also remembered over connections and restarts: sent again only on change or after
   * `every`.
   */
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
    const { memo } = this.#parts;
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

  /** Forces a document to be sent again although nothing changed; survives a restart if the disk allows. */
  #forget(name: Lasting): void {
    this.#sent.delete(name);
    this.#forgotten.add(name);
    try {
      this.#parts.memo.delete(area, name);
    } catch {
      // The disk refuses writes; this process remembers.
    }
  }

  #status(now: Instant): void {
    const { identity, config, status } = this.#parts;
    const found = status();
    if (found) this.#gated("status", boardTopic(identity, "status"), boardStatus(found), config, now);
  }

  #site(now: Instant): void {
    const { identity, config, standing, status } = this.#parts;
    const { isLeader, term } = standing();
    if (!isLeader || term === undefined) {
      if (this.#led) {
        this.#parts.states.forget(siteTopic(identity, "status"));
        this.#sent.delete("site");
      }
      const goodbye = this.resignation(now);
      if (goodbye) this.#parts.states.put(goodbye);
      return;
    }
    const isNew = this.#led?.term !== term;
    if (isNew || this.#led === undefined) this.#led = { term, since: now, at: now };
    if (isNew || elapsed(this.#led.at, now) >= config.leader.duration) {
      this.#led.at = now;
      this.#parts.states.put(this.#leader(identity.board, term, now, this.#led.since));
    }
    this.#siteStatus(status(), term, now);
  }

  /** A status from before the term describes an unled site or another term. */
  #siteStatus(found: Status | undefined, term: number, now: Instant): void {
    const { identity, config } = this.#parts;
    if (found?.leader?.role !== "leader" || found.leader.term !== term) return;
    this.#gated("site", siteTopic(identity, "status"), siteStatus(found), config, now, () => ({
      seq: ++this.#numbers,
    }));
  }

  #leader(holder: string | null, term: number, now: Instant, since?: Instant): State {
    const { identity, config, clockState } = this.#parts;
    const { leader: told } = this.#parts.status() ?? {};
    // The term may be older than the connection.
    const isTold = told?.role === "leader" && told.term === term && told.since !== undefined;
    const begun = since && { since: isTold ? told.since : stampOf(since, clockState()).at };
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
    const limits = { gap: mqtt.minInterval, heartbeat: mqtt.heartbeat };
    if (!isDue(this.#sent.get(name), text, now, limits)) return;
    this.#sent.set(name, { text, at: now });
    this.#put(topic, { ...document, ...more() }, now, 3 * mqtt.heartbeat);
  }

  #put(topic: string, document: JsonRecord, now: Instant, expiry: Millis | undefined, delivered?: () => void): void {
    const payload = JSON.stringify({ v: 1, ...document, ...stampOf(now, this.#parts.clockState()) });
    this.#parts.states.put({ topic, payload, retain: true, expiry, ...(delivered && { delivered }) });
  }
}
