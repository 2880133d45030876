import type { Ambient } from "../base/ambient.ts";
import { Bell } from "../base/bell.ts";
import { type Millis, sleep } from "../base/clock.ts";
import { isoTime } from "../base/iso-time.ts";
import type { JsonRecord } from "../base/json.ts";
import type { Effect } from "../commands/controls.ts";
import {
  committed,
  type Fault,
  inForce,
  type Kept,
  type RemoteRecord,
  rejected,
  returned,
  rolledBack,
  tried,
  type Vitals,
} from "../config/remote-record.ts";
import type { ConfigPart } from "../status/parts.ts";
import { parseDesired } from "./desired.ts";
import type { Happenings } from "./happenings.ts";

export interface KeeperParts {
  readonly read: () => RemoteRecord;
  /** On disk when it returns. */
  readonly write: (record: RemoteRecord) => void;
  /** What is wrong with a document; nothing: it could be in force. */
  readonly judge: (document: Kept) => readonly Fault[];
  /** The number of the settings that this life of the agent began with. */
  readonly versionInForce: number | undefined;
  /** Begins a new life of the agent with the settings as they are then. */
  readonly reload: () => void;
  readonly vitals: () => Vitals;
  readonly canary: Millis;
  readonly happenings: Happenings;
}

/** What was said of it goes out before the link does. */
const beforeReload: Millis = 2000;

/**
 * The settings that the fleet desires, from their arrival to the day they are replaced: judged as a whole, tried for a
 * while, then kept or taken back. Each step is on disk before the next begins, so the next start knows where it is.
 */
export class ConfigKeeper {
  readonly #ambient: Ambient;
  readonly #parts: KeeperParts;
  readonly #bell: Bell;
  #record: RemoteRecord;
  #mustReload = false;
  #at: string;

  constructor(ambient: Ambient, parts: KeeperParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#bell = new Bell(ambient.clock);
    this.#record = parts.read();
    this.#at = isoTime(ambient.clock.now().wall);
  }

  /** A document of the fleet. Resolves when what follows from it is on disk. */
  async take(payload: Uint8Array): Promise<void> {
    const desired = parseDesired(payload);
    if (desired.kind === "nothing") return;
    if (desired.kind === "malformed") {
      const { version, hash, fault } = desired;
      // A slip of the fleet must not hide what is on trial.
      if (this.#record.trial || this.#record.verdict?.hash === hash) return;
      this.#keep(rejected(this.#record, { version, hash, state: "rejected", faults: [fault] }));
      return;
    }
    const { document, canaryMs } = desired;
    if (document.version <= (this.#record.desired?.version ?? 0)) return;
    // One write: a document that is known and not judged would be waited for after a power cut, and never come again.
    const seen = { ...this.#record, desired: document };
    if (seen.trial) this.#keep(seen);
    else this.#consider(document, canaryMs ?? this.#parts.canary, seen);
  }

  /** Follows a trial to its end, and begins new lives of the agent. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    if (this.#record.trial) await this.#try(signal);
    else this.#next();
    while (!signal.aborted) {
      if (this.#mustReload) {
        await sleep(clock, beforeReload, signal);
        this.#mustReload = false;
        if (!signal.aborted) this.#parts.reload();
      }
      await this.#bell.wait(signal);
    }
  }

  /** `config/reported`; `undefined`: the fleet never sent anything. */
  reported(): JsonRecord | undefined {
    const { desired, verdict } = this.#record;
    if (desired === undefined && verdict === undefined) return undefined;
    return {
      desiredVersion: verdict?.version ?? desired?.version ?? null,
      appliedVersion: this.#parts.versionInForce ?? null,
      state: this.#state,
      hash: verdict?.hash ?? desired?.hash,
      errors: verdict?.faults ?? [],
      changedAt: this.#at,
    };
  }

  part(): Partial<ConfigPart> {
    const { desired, verdict } = this.#record;
    if (desired === undefined && verdict === undefined) return {};
    const version = desired?.version ?? verdict?.version;
    return { desiredVersion: version, appliedVersion: this.#parts.versionInForce, state: this.#state };
  }

  get versionInForce(): number | undefined {
    return this.#parts.versionInForce;
  }

  /** Looks at the newest document once more, at once. */
  async apply(version: number, canary: Millis | undefined, dryRun: boolean): Promise<Effect> {
    const { desired, trial } = this.#record;
    if (desired?.version !== version)
      return { outcome: "refused", code: 409, error: "version-not-seen", result: { desiredVersion: desired?.version } };
    if (trial) return { outcome: "refused", code: 409, error: "busy", result: { version: trial.document.version } };
    if (this.#parts.versionInForce === version) return { outcome: "done", result: { version, changed: false } };
    const faults = this.#parts.judge(desired);
    if (faults.length > 0) return { outcome: "refused", code: 422, error: "rejected", result: { errors: faults } };
    if (!dryRun) this.#consider(desired, canary ?? this.#parts.canary);
    return { outcome: "done", result: { version, changed: true } };
  }

  async rollback(toVersion: number | undefined, dryRun: boolean): Promise<Effect> {
    const next = returned(this.#record, toVersion);
    if (next === undefined)
      return {
        outcome: "refused",
        code: 404,
        error: "no-such-version",
        result: { good: this.#record.good.map(({ version }) => version) },
      };
    if (!dryRun) this.#keep(next, true);
    return { outcome: "done", result: { version: inForce(next)?.version } };
  }

  #consider(document: Kept, canaryMs: Millis, record = this.#record): void {
    const { version, hash, config } = document;
    const faults = this.#parts.judge(document);
    if (faults.length > 0) {
      this.#keep(rejected(record, { version, hash, state: "rejected", faults }));
      this.#tell("config.rejected", "warning", { version, errors: faults });
      return;
    }
    if (JSON.stringify(record.current?.config) === JSON.stringify(config)) {
      // Nothing changes but its number, which the next life knows.
      this.#keep(committed(record, document), true);
      return;
    }
    this.#keep(tried(record, { document, canaryMs, before: this.#parts.vitals() }), true);
  }

  /** The life that began with it is its trial: what was well before must be well at the end. */
  async #try(signal: AbortSignal): Promise<void> {
    const { trial } = this.#record;
    if (!trial) return;
    const { document, canaryMs, before } = trial;
    const { version } = document;
    if (this.#parts.versionInForce !== version) {
      this.#goBack("no life of the agent could begin with it", false);
      return;
    }
    this.#ambient.log.info("settings of the fleet are on trial", { version, canaryMs });
    await sleep(this.#ambient.clock, canaryMs, signal);
    // An operator may have gone back meanwhile.
    if (signal.aborted || this.#record.trial?.document.version !== version) return;
    const now = this.#parts.vitals();
    const failing = (["lease", "api", "mqtt"] as const).filter((name) => before[name] && !now[name]);
    if (failing.length > 0) {
      this.#goBack(`was well before and is not any more: ${failing.join(", ")}`, true);
      return;
    }
    this.#keep(committed(this.#record, document));
    this.#ambient.log.info("settings of the fleet are kept", { version });
    this.#tell("config.applied", "info", { version });
    this.#next();
  }

  #goBack(why: string, isInForce: boolean): void {
    const version = this.#record.trial?.document.version;
    this.#ambient.log.error("settings of the fleet are taken back", { version, why });
    this.#keep(rolledBack(this.#record, why), isInForce);
    this.#tell("config.rolled-back", "critical", { version, why });
    if (!isInForce) this.#next();
  }

  /** What came during a trial has its turn. */
  #next(): void {
    const { desired, current, verdict } = this.#record;
    if (!desired || desired.version <= Math.max(current?.version ?? 0, verdict?.version ?? 0)) return;
    this.#consider(desired, this.#parts.canary);
  }

  #tell(type: string, severity: "info" | "warning" | "critical", detail: JsonRecord): void {
    this.#parts.happenings.note({ type, severity, detail });
  }

  #keep(record: RemoteRecord, reload = false): void {
    this.#parts.write(record);
    this.#record = record;
    this.#at = isoTime(this.#ambient.clock.now().wall);
    if (reload) {
      this.#mustReload = true;
      this.#bell.ring();
    }
  }

  get #state(): "pending" | "applying" | "in-sync" | "rejected" | "rolled-back" {
    const { desired, trial, verdict } = this.#record;
    if (trial) return "applying";
    if (verdict) return verdict.state;
    if (desired?.version === this.#parts.versionInForce) return "in-sync";
    // Until the new life begins; or an operator went back, and a newer document is waited for.
    return "pending";
  }
}
