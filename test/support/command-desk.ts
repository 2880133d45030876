import type { Ambient } from "../../agent/base/ambient.ts";
import type { JsonRecord } from "../../agent/base/json.ts";
import type { BoardControls } from "../../agent/commands/desk/board-controls.ts";
import type { Effect, SiteControls, Standing } from "../../agent/commands/desk/controls.ts";
import { CommandDesk } from "../../agent/commands/desk/desk.ts";
import { Ledger } from "../../agent/commands/desk/ledger.ts";
import { LogLevels } from "../../agent/commands/desk/log-levels.ts";
import { type OwnerPolicy, openPolicy } from "../../agent/commands/desk/policy.ts";
import type { Answer, CommandRequest, DeskReply } from "../../agent/commands/desk/request.ts";
import { noTrust, type Trust } from "../../agent/commands/desk/trust.ts";
import { CommandLog } from "../../storage/command-log.ts";
import { Database } from "../../storage/database/database.ts";
import { Memo } from "../../storage/memo.ts";
import { stateMigrations } from "../../storage/schema.ts";
import { FakeClock } from "./fake-clock.ts";
import { RecordingLog } from "./recording-log.ts";
import { SeededRandom } from "./seeded-random.ts";
import { statePragmas } from "./state-pragmas.ts";

/** A board for commands: its disk and its site outlive its processes. */
export class CommandBoard {
  readonly clock = new FakeClock("2026-11-20T12:00:00Z");
  readonly log = new RecordingLog();
  readonly database: Database;
  /** The effects, in order. */
  readonly effects: string[] = [];
  readonly levels: (string | undefined)[] = [];
  bootId = "boot-1";
  isSynced = true;
  standing: Standing = { isLeader: true, leader: "edge-02", term: 17 };
  /** The content of the site's Lease, and how long it takes to write it. */
  readonly siteCounters = new Map<string, number>();
  writesLease: () => Promise<void> = async () => undefined;
  /** Records of harmful acts. */
  decisions: readonly JsonRecord[] = [];
  heldActs: readonly JsonRecord[] | undefined;
  configVersion: number | undefined = 42;
  trust: Trust = noTrust;
  policy: OwnerPolicy = openPolicy;
  obstacle: string | undefined;
  /** The outcome of effects; "done" by default. */
  effect: (what: string, parts: { progress?: (done: JsonRecord) => void; signal?: AbortSignal }) => Promise<Effect> =
    async (what) => ({ outcome: "done", result: { what } });
  /** A pause during which the power can fail. */
  atWrite: (step: string, when: "before" | "after") => void = () => undefined;
  #stop: AbortController | undefined;

  constructor(file = ":memory:") {
    this.database = Database.open({ file, migrations: stateMigrations, pragmas: statePragmas });
  }

  get ambient(): Ambient {
    return { clock: this.clock, random: new SeededRandom(), log: this.log };
  }

  /** Starts a process, without the memory of the previous one. */
  start(): CommandDesk {
    const moment = () => ({ now: this.clock.now(), bootId: this.bootId, isSynced: this.isSynced });
    const ledger = new Ledger(this.ambient, { log: this.#cutLog(), moment });
    const controls = this.#boardControls();
    const levels = new LogLevels(this.ambient, { memo: new Memo(this.database), board: controls, moment });
    const desk = new CommandDesk(this.ambient, {
      board: "edge-02",
      ledger,
      levels,
      site: this.#siteControls(),
      counters: {
        highest: (key) => this.siteCounters.get(key),
        use: async (key, counter) => {
          await this.writesLease();
          this.siteCounters.set(key, counter);
        },
      },
      controls,
      clock: () => (this.isSynced ? "synced" : "unsynced"),
      rules: () => ({ trust: this.trust, policy: this.policy }),
      obstacle: () => this.obstacle,
      changed: () => undefined,
    });
    const stop = new AbortController();
    this.#stop = stop;
    this.#running = desk.run(stop.signal);
    return desk;
  }

  #running: Promise<void> = Promise.resolve();

  /** Stops cleanly, like at SIGTERM. */
  async stop(): Promise<void> {
    this.#stop?.abort(new Error("stopped"));
    await this.clock.advance("3s");
    await this.#running;
  }

  effected(what: string): number {
    return this.effects.filter((one) => one === what).length;
  }

  async #do(
    what: string,
    parts: { progress?: (done: JsonRecord) => void; signal?: AbortSignal } = {},
  ): Promise<Effect> {
    this.effects.push(what);
    return await this.effect(what, parts);
  }

  #siteControls(): SiteControls {
    const plan = (what: string, dryRun: boolean, signal?: AbortSignal): Promise<Effect> =>
      dryRun ? Promise.resolve({ outcome: "done", result: { plan: what } }) : this.#do(what, signal && { signal });
    return {
      standing: () => this.standing,
      freeze: (scope, ttl, _, dryRun, signal) =>
        plan(`freeze ${"target" in scope ? scope.target : "site"} ${ttl}`, dryRun, signal),
      thaw: (scope, _, dryRun, signal) => plan(`thaw ${"target" in scope ? scope.target : "site"}`, dryRun, signal),
      pause: (controller, ttl, _, dryRun, signal) => plan(`pause ${controller} ${ttl}`, dryRun, signal),
      resume: (controller, _, dryRun, signal) => plan(`resume ${controller}`, dryRun, signal),
      releaseValve: (ttl, _, dryRun, signal) => plan(`release valve ${ttl}`, dryRun, signal),
      rearmValve: (_, dryRun, signal) => plan("rearm valve", dryRun, signal),
      confirmZoneDead: (zone, _ttl, _author, dryRun, signal) => plan(`confirm zone ${zone}`, dryRun, signal),
      unconfirmZoneDead: (zone, _author, dryRun, signal) => plan(`unconfirm zone ${zone}`, dryRun, signal),
      confirmBoardDead: (board, _, dryRun, signal) => plan(`confirm board ${board}`, dryRun, signal),
      stepDown: (to, holdOff, _, dryRun, signal) => plan(`step down ${to} ${holdOff}`, dryRun, signal),
      cordon: (board, cordoned, _, dryRun, signal) =>
        plan(`${cordoned ? "cordon" : "uncordon"} ${board ?? "self"}`, dryRun, signal),
      draining: () => undefined,
      drain: (_options, _author, progress, signal, dryRun) =>
        dryRun ? plan("drain", true) : this.#do("drain", { progress, signal }),
    };
  }

  #boardControls(): BoardControls {
    return {
      version: "1.2.3",
      bootId: this.bootId,
      uptime: () => 5000,
      status: (detail) => ({ detail }),
      decisions: (about, most, { skip = 0 } = {}) => ({
        board: "edge-02",
        leader: "edge-02",
        records: this.decisions
          .toReversed()
          .slice(skip, skip + Math.min(most, 20))
          .toReversed(),
        held: this.heldActs,
        about,
      }),
      configVersion: () => this.configVersion,
      config: () => ({ settings: {} }),
      announce: () => ({ announced: true }),
      setLogLevel: (level) => this.levels.push(level),
      collectDiagnostics: (_options, progress, signal) => this.#do("diagnostics", { progress, signal }),
      compact: (vacuum) => this.#do(`compact ${vacuum}`),
      restart: () => this.effects.push("restart"),
      reloadCredentials: () => this.#do("reload credentials"),
      applyConfig: (version) => this.#do(`apply ${version}`),
      rollbackConfig: (version) => this.#do(`roll back ${version}`),
    };
  }

  #cutLog(): CommandLog {
    const atWrite = (step: string, when: "before" | "after"): void => this.atWrite(step, when);
    return new (class extends CommandLog {
      override admit(...args: Parameters<CommandLog["admit"]>): void {
        atWrite("admit", "before");
        super.admit(...args);
        atWrite("admit", "after");
      }
      override begin(id: string): void {
        atWrite("begin", "before");
        super.begin(id);
        atWrite("begin", "after");
      }
      override settle(...args: Parameters<CommandLog["settle"]>): void {
        atWrite("settle", "before");
        super.settle(...args);
        atWrite("settle", "after");
      }
    })(this.database);
  }
}

export interface Order {
  readonly id?: string;
  readonly name: string;
  readonly args?: JsonRecord;
  readonly more?: JsonRecord;
}

let numbered = 0;

/** A command from the fleet, as it arrives. */
export function order(
  { id = `ID-${++numbered}`, name, args, more }: Order,
  changes: Partial<CommandRequest> = {},
): CommandRequest {
  const scope = changes.scope ?? "board";
  const envelope = { v: 1, id, name, ...(args && { args }), by: "ops:alice", reason: "a test", ...more };
  const place = scope === "board" ? "edge-02" : scope === "site" ? "_site" : "_all";
  return {
    origin: "mqtt",
    scope,
    topic: `sw1/acme/plant7/${place}/cmd/${name}/${id}`,
    name,
    id,
    payload: Buffer.from(JSON.stringify(envelope)),
    retained: false,
    expirySeconds: 300,
    ...changes,
  };
}

export const freeze = (more: Partial<Order> = {}, changes: Partial<CommandRequest> = {}): CommandRequest =>
  order({ name: "eviction.freeze", args: { ttl: 3600 }, ...more }, { scope: "site", ...changes });

/** The answers so far, and later ones. */
async function answersOf(taken: DeskReply): Promise<readonly Answer[]> {
  if (taken === "no answer") return [];
  const all: Answer[] = [taken.answer];
  for await (const answer of taken.later ?? []) all.push(answer);
  return all;
}

export const lastOf = async (taken: DeskReply): Promise<JsonRecord | undefined> =>
  (await answersOf(taken)).at(-1)?.body;
