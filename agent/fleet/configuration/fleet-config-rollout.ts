import type { Ambient } from "../../base/ambient.ts";
import { backoff } from "../../base/backoff.ts";
import { elapsed, type Instant, type Millis, sleep } from "../../base/clock.ts";
import { WakeSignal } from "../../base/concurrency/wake-signal.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { Effect } from "../../commands/desk/controls.ts";
import {
  commitTrial,
  type Fault,
  inForce,
  type Kept,
  ownFiles,
  type RemoteRecord,
  type RemoteRejection,
  recordRejection,
  recordTrial,
  returnTo,
  rollBack,
  type Vitals,
} from "../../config/remote-record.ts";
import type { ConfigPart, ProblemPart } from "../../status/parts.ts";
import type { FleetEventSink } from "../reporting/fleet-events.ts";
import { verdictProblem } from "./config-problems.ts";
import type { DesiredMessage } from "./desired.ts";
import { DesiredIntake, type ReceivedDesired, storeAgain } from "./desired-intake.ts";

export interface ConfigKeeperDeps {
  readonly read: () => RemoteRecord;
  /** Stores the record; it is on disk on return. */
  readonly write: (record: RemoteRecord) => void;
  /** Validation errors of a document. Without errors, it may be applied. */
  readonly judge: (document: Kept) => readonly Fault[];
  /** The version of the fleet's settings if all of them are in force; otherwise undefined. */
  readonly versionInForce: () => number | undefined;
  /** The faults of the stored settings that are not in force. */
  readonly leftOut: () => readonly Fault[];
  /**
   * Applies the stored settings. begins: this agent stops, and a new one starts with the settings in the same process.
   * taken: they took effect in the running agent. unchanged: they were in force already. refused: they would be invalid
   * here, or fewer would be in force than before, so nothing changes.
   */
  readonly reload: () => "begins" | "taken" | "unchanged" | "refused";
  readonly vitals: () => Vitals;
  /** Length of a trial, unless the document gives its own. */
  readonly canary: Millis;
  readonly events: FleetEventSink;
}

/** Delay before a reload, so that the report is published while the link is up. */
const beforeReload: Millis = 2000;

/** Maximum number of reported faults of stored settings that are not in force. */
const maxReported = 20;

/** Minimum interval between two writes of a refusal to disk. */
const notePause: Millis = 300_000;

/**
 * Handles the settings that the fleet wants: they are validated as a whole, applied on trial, then kept or rolled back.
 * Each step is stored before the next begins, so a restart resumes at the right one.
 */
export class FleetConfigRollout {
  readonly #ambient: Ambient;
  readonly #deps: ConfigKeeperDeps;
  readonly #bell: WakeSignal;
  readonly #intake: DesiredIntake;
  #record: RemoteRecord;
  #mustReload = false;
  /** When a refusal was last written to disk. */
  #noted: Instant | undefined;

  constructor(ambient: Ambient, deps: ConfigKeeperDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#bell = new WakeSignal(ambient.clock);
    this.#intake = new DesiredIntake(ambient, { receive: (desired) => this.#receive(desired) });
    this.#record = deps.read();
  }

  /** Takes a document from the fleet. If its result cannot be stored, that is reported, and the write is retried. */
  take(message: DesiredMessage): void {
    this.#intake.take(message);
  }

  /** Ends trials when they are due, and reloads the agent when the settings change. */
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
      // Settings that take effect without a restart are already in force and cannot break the next start, so they do
      // not need a trial.
      if (!signal.aborted && this.#deps.reload() !== "begins") await this.#conclude(signal);
    }
  }

  /** Retries a step until it is persisted. */
  async #written(step: () => void, signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        step();
        return;
      } catch (error) {
        if (failures === 1) this.#ambient.log.warn("the fleet's settings cannot be stored", { error });
        await sleep(this.#ambient.clock, backoff(failures, storeAgain), signal);
      }
    }
  }

  #receive(desired: ReceivedDesired): void {
    const { verdict } = this.#record;
    if (desired.kind === "malformed") {
      this.#refuse(desired, desired.fault);
      return;
    }
    const { document, canaryMs, refusal } = desired;
    const known = this.#record.desired?.version ?? 0;
    if (document.version <= known) {
      const isObsolete = verdict !== undefined && verdict.version !== known && this.#record.current?.version === known;
      // The fleet has resent the version in force, so an earlier refusal of another document is obsolete.
      if (document.version === known && isObsolete) this.#note({ ...this.#record, verdict: undefined });
      return;
    }
    // Only the refusal is stored, not the version, so that the same version can be accepted later with a valid
    // signature.
    if (refusal) {
      this.#refuse(document, refusal);
      return;
    }
    // Document and result are stored in a single write. A document stored without its result would stay pending after a
    // power cut, because the broker does not send it again.
    const seen = { ...this.#record, desired: document };
    if (seen.trial) this.#keep(seen);
    else this.#consider(document, canaryMs ?? this.#deps.canary, seen);
  }

  /** Stores the refusal of a document, except during a trial, whose state must stay visible. */
  #refuse({ version, hash }: Pick<RemoteRejection, "version" | "hash">, fault: Fault): void {
    const { trial, verdict } = this.#record;
    const isKnown =
      verdict?.hash === hash && verdict.version === version && verdict.faults[0]?.message === fault.message;
    if (!trial && !isKnown)
      this.#note(recordRejection(this.#record, { version, hash, state: "rejected", faults: [fault] }));
  }

  /** The content of `config/reported`; undefined if the fleet has never sent settings. */
  reported(): JsonRecord | undefined {
    const { desired, verdict } = this.#record;
    const appliedVersion = this.versionInForce ?? null;
    const { unstored } = this.#intake;
    if (unstored) {
      const { version, hash, why } = unstored;
      const errors = [{ path: "", code: "not-stored", message: why }] satisfies Fault[];
      return { desiredVersion: version ?? null, appliedVersion, state: "pending", hash, errors };
    }
    const leftOut = this.#deps.leftOut().slice(0, maxReported);
    if (desired === undefined && verdict === undefined && leftOut.length === 0) return undefined;
    return {
      desiredVersion: verdict?.version ?? desired?.version ?? null,
      appliedVersion,
      state: this.#state,
      hash: verdict?.hash ?? desired?.hash,
      errors: verdict?.faults ?? leftOut,
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
    const message = `version ${version ?? "(unknown)"} of the fleet settings cannot be stored: ${why}`;
    const hint = "free space in the state folder; the agent keeps trying";
    return [{ type: "FleetConfigNotStored", severity: "warning", message, hint }];
  }

  get versionInForce(): number | undefined {
    return this.#deps.versionInForce();
  }

  /** Validates the newest document again and applies it immediately. */
  async apply(version: number, canary: Millis | undefined, dryRun: boolean): Promise<Effect> {
    const { desired, trial } = this.#record;
    if (desired?.version !== version)
      return { outcome: "refused", code: 409, error: "version-not-seen", result: { desiredVersion: desired?.version } };
    if (trial) return { outcome: "refused", code: 409, error: "busy", result: { version: trial.document.version } };
    if (this.versionInForce === version) return { outcome: "done", result: { version, changed: false } };
    const faults = this.#deps.judge(desired);
    if (faults.length > 0) return { outcome: "refused", code: 422, error: "rejected", result: { errors: faults } };
    if (!dryRun) this.#consider(desired, canary ?? this.#deps.canary);
    return { outcome: "done", result: { version, changed: true } };
  }

  async rollback(toVersion: number | undefined, dryRun: boolean): Promise<Effect> {
    const next = returnTo(this.#record, toVersion);
    if (next === undefined) {
      const good = this.#record.good.map(({ version }) => version);
      const versions = [...good, `${ownFiles} (this board's own files alone)`].join(", ");
      const message = `there is no such version to return to; available: ${versions}`;
      return { outcome: "refused", code: 404, error: "no-such-version", message, result: { good } };
    }
    const faults = next.current ? this.#deps.judge(next.current) : [];
    if (faults.length > 0) return { outcome: "refused", code: 422, error: "rejected", result: { errors: faults } };
    if (!dryRun) this.#keep(next, true);
    const desiredVersion = next.desired?.version;
    return { outcome: "done", result: { version: inForce(next)?.version ?? ownFiles, desiredVersion } };
  }

  #consider(document: Kept, canaryMs: Millis, record = this.#record): void {
    const { version, hash, config } = document;
    const faults = this.#deps.judge(document);
    if (faults.length > 0) {
      this.#keep(recordRejection(record, { version, hash, state: "rejected", faults }));
      this.#reportEvent("config.rejected", "warning", { version, errors: faults });
      return;
    }
    if (JSON.stringify(record.current?.config) === JSON.stringify(config)) {
      // The settings are the same as those in force, so only the version number changes.
      this.#keep(commitTrial(record, document), true);
      return;
    }
    this.#keep(recordTrial(record, { document, canaryMs, before: this.#deps.vitals() }), true);
  }

  /** Waits for the end of the trial. Every part that was healthy before the trial must be healthy at its end. */
  async #try(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const { trial } = this.#record;
    if (!trial) return;
    const { document, canaryMs, before } = trial;
    const { version } = document;
    if (this.versionInForce !== version) return await this.#conclude(signal);
    this.#ambient.log.info("trying the fleet's new settings", { version, canaryMs });
    const begun = clock.now();
    const isOnTrial = (): boolean => this.#isOnTrial(document);
    for (let left = canaryMs; left > 0 && isOnTrial() && !signal.aborted; left = canaryMs - elapsed(begun, clock.now()))
      await this.#bell.wait(signal, left);
    // An operator may have rolled back in the meantime.
    if (signal.aborted || !isOnTrial()) return;
    const now = this.#deps.vitals();
    const failing = (["lease", "api", "mqtt"] as const).filter((name) => before[name] && !now[name]);
    if (failing.length > 0) {
      const why = `worked before the trial but not at its end: ${failing.join(", ")}`;
      await this.#written(() => isOnTrial() && this.#goBack(why, true), signal);
      return;
    }
    await this.#conclude(signal);
  }

  /** Commits the settings on trial if they are in force, otherwise rolls back; then considers any newer document. */
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
      this.#goBack("the agent could not start with these settings", false);
      return;
    }
    const { version } = document;
    this.#keep(commitTrial(this.#record, document));
    this.#ambient.log.info("the fleet's new settings have passed their trial and are kept", { version });
    this.#reportEvent("config.applied", "info", { version });
  }

  #isOnTrial(document: Kept): boolean {
    return this.#record.trial?.document === document;
  }

  #goBack(why: string, isInForce: boolean): void {
    const version = this.#record.trial?.document.version;
    this.#keep(rollBack(this.#record, why), isInForce);
    this.#ambient.log.error("the fleet's new settings were rolled back", { version, why });
    this.#reportEvent("config.rolled-back", "critical", { version, why });
  }

  #next(): void {
    const { desired, current, verdict } = this.#record;
    if (!desired || desired.version <= Math.max(current?.version ?? 0, verdict?.version ?? 0)) return;
    this.#consider(desired, this.#deps.canary);
  }

  #reportEvent(type: string, severity: "info" | "warning" | "critical", detail: JsonRecord): void {
    this.#deps.events.note({ type, severity, detail });
  }

  /**
   * Takes a record that differs from the stored one only in the last refusal. Any client that may publish can cause
   * refusals at any rate, so most are kept only in memory; after a restart, the broker resends a retained document.
   */
  #note(record: RemoteRecord): void {
    const now = this.#ambient.clock.now();
    if (this.#noted && elapsed(this.#noted, now) < notePause) {
      this.#record = record;
      return;
    }
    this.#keep(record);
    this.#noted = now;
  }

  #keep(record: RemoteRecord, reload = false): void {
    this.#deps.write(record);
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
    if (this.#deps.leftOut().length > 0) return "rejected";
    if (desired?.version === this.versionInForce) return "in-sync";
    // The newest version is not in force yet, or an operator returned from it to an earlier version.
    return "pending";
  }
}
