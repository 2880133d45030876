import type { Ambient } from "../base/ambient.ts";
import { backoff } from "../base/backoff.ts";
import { elapsed, type Millis, sleep } from "../base/clock.ts";
import type { JsonRecord } from "../base/json.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import type { Effect } from "../commands/desk/controls.ts";
import {
  committed,
  type Fault,
  inForce,
  type Kept,
  ownFiles,
  type RemoteRecord,
  rejected,
  returned,
  rolledBack,
  tried,
  type Vitals,
} from "../config/remote-record.ts";
import type { ConfigPart, ProblemPart } from "../status/parts.ts";
import { verdictProblem } from "./config-problems.ts";
import { DesiredIntake, type Received, storeAgain } from "./desired-intake.ts";
import type { FleetEventSink } from "./fleet-events.ts";

export interface KeeperParts {
  readonly read: () => RemoteRecord;
  /** Durable on return. */
  readonly write: (record: RemoteRecord) => void;
  /** Validation errors of a document; none: it may be applied. */
  readonly judge: (document: Kept) => readonly Fault[];
  /** The version of the settings in force. */
  readonly versionInForce: () => number | undefined;
  /** Applies the current settings. begins: this run of the agent ends and another one starts with them. */
  readonly reload: () => "begins" | "taken" | "unchanged" | "refused";
  readonly vitals: () => Vitals;
  readonly canary: Millis;
  readonly happenings: FleetEventSink;
}

/** Delay before a reload, so that the report goes out while the link is up. */
const beforeReload: Millis = 2000;

/**
 * Handles the settings desired by the fleet from arrival to replacement: validated as a whole, tried for a while, then
 * kept or rolled back. Each step is persisted before the next, so a restart resumes at the right one.
 */
export class ConfigKeeper {
  readonly #ambient: Ambient;
  readonly #parts: KeeperParts;
  readonly #bell: WakeSignal;
  readonly #intake: DesiredIntake;
  #record: RemoteRecord;
  #mustReload = false;

  constructor(ambient: Ambient, parts: KeeperParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#bell = new WakeSignal(ambient.clock);
    this.#intake = new DesiredIntake(ambient, { receive: (desired) => this.#receive(desired) });
    this.#record = parts.read();
  }

  /** Takes a document of the fleet. If the disk refuses the result, that is reported, and the write is retried. */
  take(payload: Uint8Array): void {
    this.#intake.take(payload);
  }

  /** Follows a trial to its end, and reloads the agent when the settings change. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#follow(signal), this.#intake.run(signal)]);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    if (this.#record.trial) await this.#try(signal);
    else await this.#written(() => this.#next(), signal);
    while (!signal.aborted) {
      if (!this.#mustReload) {
        await this.#bell.wait(signal);
        continue;
      }
      await sleep(clock, beforeReload, signal);
      this.#mustReload = false;
      // Settings applied without a restart are in force already and cannot break the start: no trial is needed.
      if (!signal.aborted && this.#parts.reload() !== "begins") await this.#conclude(signal);
    }
  }

  /** Retries a step until it is persisted. */
  async #written(step: () => void, signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        step();
        return;
      } catch (error) {
        if (failures === 1) this.#ambient.log.warn("a step with settings of the fleet cannot be stored", { error });
        await sleep(this.#ambient.clock, backoff(failures, storeAgain), signal);
      }
    }
  }

  #receive(desired: Received): void {
    const { trial, verdict } = this.#record;
    if (desired.kind === "malformed") {
      const { version, hash, fault } = desired;
      const isKnown = verdict?.hash === hash && verdict.faults[0]?.message === fault.message;
      // A malformed document must not hide the trial in progress.
      if (!trial && !isKnown) this.#keep(rejected(this.#record, { version, hash, state: "rejected", faults: [fault] }));
      return;
    }
    const { document, canaryMs } = desired;
    const known = this.#record.desired?.version ?? 0;
    if (document.version <= known) {
      const isSlip = verdict !== undefined && verdict.version !== known && this.#record.current?.version === known;
      // The fleet repeated the version in force: the rejected document is obsolete.
      if (document.version === known && isSlip) this.#keep({ ...this.#record, verdict: undefined });
      return;
    }
    // A single write: a document stored without its verdict would stay pending after a power cut, and not be sent
    // again.
    const seen = { ...this.#record, desired: document };
    if (seen.trial) this.#keep(seen);
    else this.#consider(document, canaryMs ?? this.#parts.canary, seen);
  }

  /**
   * The document `config/reported`; `undefined`: the fleet never sent settings. A function of the record alone, so that
   * it changes only with its content.
   */
  reported(): JsonRecord | undefined {
    const { desired, verdict } = this.#record;
    const appliedVersion = this.versionInForce ?? null;
    const { unstored } = this.#intake;
    if (unstored) {
      const { version, hash, why } = unstored;
      const errors = [{ path: "", code: "not-stored", message: why }] satisfies Fault[];
      return { desiredVersion: version ?? null, appliedVersion, state: "pending", hash, errors };
    }
    if (desired === undefined && verdict === undefined) return undefined;
    return {
      desiredVersion: verdict?.version ?? desired?.version ?? null,
      appliedVersion,
      state: this.#state,
      hash: verdict?.hash ?? desired?.hash,
      errors: verdict?.faults ?? [],
    };
  }

  part(): Partial<ConfigPart> {
    const { desiredVersion, state } = this.reported() ?? {};
    if (typeof state !== "string") return {};
    const version = typeof desiredVersion === "number" ? desiredVersion : undefined;
    return { desiredVersion: version, appliedVersion: this.versionInForce, state };
  }

  /** Problems to show to an operator. */
  problems(): readonly ProblemPart[] {
    const { unstored } = this.#intake;
    const { trial, verdict } = this.#record;
    if (!unstored) return verdict && !trial ? [verdictProblem(verdict, this.versionInForce)] : [];
    const { version, why } = unstored;
    const message = `version ${version ?? "(unknown)"} of the fleet's settings cannot be stored: ${why}`;
    const hint = "free space in the state folder; the agent goes on trying";
    return [{ type: "FleetConfigNotStored", severity: "warning", message, hint }];
  }

  get versionInForce(): number | undefined {
    return this.#parts.versionInForce();
  }

  /** Validates the newest document again and applies it at once. */
  async apply(version: number, canary: Millis | undefined, dryRun: boolean): Promise<Effect> {
    const { desired, trial } = this.#record;
    if (desired?.version !== version)
      return { outcome: "refused", code: 409, error: "version-not-seen", result: { desiredVersion: desired?.version } };
    if (trial) return { outcome: "refused", code: 409, error: "busy", result: { version: trial.document.version } };
    if (this.versionInForce === version) return { outcome: "done", result: { version, changed: false } };
    const faults = this.#parts.judge(desired);
    if (faults.length > 0) return { outcome: "refused", code: 422, error: "rejected", result: { errors: faults } };
    if (!dryRun) this.#consider(desired, canary ?? this.#parts.canary);
    return { outcome: "done", result: { version, changed: true } };
  }

  async rollback(toVersion: number | undefined, dryRun: boolean): Promise<Effect> {
    const next = returned(this.#record, toVersion);
    if (next === undefined) {
      const good = this.#record.good.map(({ version }) => version);
      const back = good.length === 0 ? "" : `${good.join(", ")}, and `;
      const message = `there is no such version to go back to, but ${back}${ownFiles}: this board's own files alone`;
      return { outcome: "refused", code: 404, error: "no-such-version", message, result: { good } };
    }
    if (!dryRun) this.#keep(next, true);
    const desiredVersion = next.desired?.version;
    return { outcome: "done", result: { version: inForce(next)?.version ?? ownFiles, desiredVersion } };
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
      // Only the version number changes.
      this.#keep(committed(record, document), true);
      return;
    }
    this.#keep(tried(record, { document, canaryMs, before: this.#parts.vitals() }), true);
  }

  /** Watches the trial: whatever was healthy before it must be healthy at its end. */
  async #try(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const { trial } = this.#record;
    if (!trial) return;
    const { document, canaryMs, before } = trial;
    const { version } = document;
    if (this.versionInForce !== version) return await this.#conclude(signal);
    this.#ambient.log.info("settings of the fleet are on trial", { version, canaryMs });
    const begun = clock.now();
    const isOnTrial = (): boolean => this.#isOnTrial(document);
    for (let left = canaryMs; left > 0 && isOnTrial() && !signal.aborted; left = canaryMs - elapsed(begun, clock.now()))
      await this.#bell.wait(signal, left);
    // An operator may have rolled back in the meantime.
    if (signal.aborted || !isOnTrial()) return;
    const now = this.#parts.vitals();
    const failing = (["lease", "api", "mqtt"] as const).filter((name) => before[name] && !now[name]);
    if (failing.length > 0) {
      const why = `was well before and is not any more: ${failing.join(", ")}`;
      await this.#written(() => isOnTrial() && this.#goBack(why, true), signal);
      return;
    }
    await this.#conclude(signal);
  }

  /** Commits the settings on trial if they are in force, else rolls back; then considers any newer document. */
  async #conclude(signal: AbortSignal): Promise<void> {
    const { document } = this.#record.trial ?? {};
    if (document) {
      const isInForce = this.versionInForce === document.version;
      await this.#written(() => this.#isOnTrial(document) && this.#end(document, isInForce), signal);
    }
    await this.#written(() => this.#next(), signal);
  }

  #end(document: Kept, isInForce: boolean): void {
    if (!isInForce) {
      this.#goBack("no life of the agent could begin with it", false);
      return;
    }
    const { version } = document;
    this.#keep(committed(this.#record, document));
    this.#ambient.log.info("settings of the fleet are kept", { version });
    this.#tell("config.applied", "info", { version });
  }

  #isOnTrial(document: Kept): boolean {
    return this.#record.trial?.document === document;
  }

  #goBack(why: string, isInForce: boolean): void {
    const version = this.#record.trial?.document.version;
    this.#keep(rolledBack(this.#record, why), isInForce);
    this.#ambient.log.error("settings of the fleet are taken back", { version, why });
    this.#tell("config.rolled-back", "critical", { version, why });
  }

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
    if (reload) {
      this.#mustReload = true;
      this.#bell.ring();
    }
  }

  get #state(): "pending" | "applying" | "in-sync" | "rejected" | "rolled-back" {
    const { desired, trial, verdict } = this.#record;
    if (trial) return "applying";
    if (verdict) return verdict.state;
    if (desired?.version === this.versionInForce) return "in-sync";
    // Not in force yet; or an operator rolled back, and only a newer document counts.
    return "pending";
  }
}
