import { type Clock, type Millis, sleep } from "../../../../agent/base/clock.ts";
import { ConfigError, sentenceOf } from "../../../../agent/base/errors.ts";
import type { LeaseTiming } from "../../../../agent/base/lease-timing.ts";
import { type Logger, noopLogger } from "../../../../agent/base/logger.ts";
import { LeaderElector } from "../../../../agent/election/leader-elector.ts";
import { LeaseLock } from "../../../../agent/election/lease-lock.ts";
import { TermOver } from "../../../../agent/election/term.ts";
import type { EventAction } from "../../../../agent/execution/actions.ts";
import type { Term } from "../../../../agent/execution/fence.ts";
import { LeaseLink, type LeaseServer } from "../../../support/lease-server.ts";
import { ProcessClock } from "../../../support/process-clock.ts";
import type { CandidateGiven, Config } from "./forms.ts";

/** A term of a candidate, from the beginning of its work to its end. */
export interface Led {
  readonly candidate: string;
  readonly term: number;
  readonly fromMs: Millis;
  toMs: Millis | undefined;
  why: string | undefined;
}

export interface Logged {
  readonly atMs: Millis;
  readonly by: string;
  readonly message: string;
}

/** A candidate observed a new holder: upstream's OnNewLeader. */
export interface Seen {
  readonly atMs: Millis;
  readonly by: string;
  readonly holder: string;
}

/** What all candidates of a case share. */
export interface Race {
  readonly clock: Clock;
  readonly server: LeaseServer;
  readonly config: Config;
  readonly led: Led[];
  readonly logged: Logged[];
  readonly seen: Seen[];
}

const at = { namespace: "kube-system", name: "siteward" };

const timingOf = ({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: Config): LeaseTiming => ({
  duration: leaseDurationMs ?? 10_000,
  renewDeadline: renewDeadlineMs ?? 7000,
  retry: retryPeriodMs ?? 2000,
});

/** One process that stands for election, with the real elector and the real lock. */
export class Candidate {
  readonly name: string;
  readonly link: LeaseLink;
  readonly clock: ProcessClock;
  readonly #race: Race;
  readonly #given: CandidateGiven;
  readonly #elector: LeaderElector;
  readonly #stop = new AbortController();
  #notStanding: string | undefined;
  #state: "running" | "ended" | "killed" = "running";
  #problems: readonly string[] | undefined;

  constructor(race: Race, name: string, given: CandidateGiven) {
    const { server, config } = race;
    const { identity = name, formerIdentity, formerTerm, wallAheadMs = 0, notStanding } = given;
    this.name = name;
    this.#race = race;
    this.#given = given;
    this.#notStanding = notStanding;
    this.clock = new ProcessClock(race.clock, wallAheadMs);
    this.link = new LeaseLink({
      server,
      clock: this.clock,
      by: name,
      latency: { request: config.latencyMs ?? 0, answer: 0 },
    });
    const random = { next: () => config.jitter ?? 0, uuid: () => "" };
    this.#elector = new LeaderElector(
      { clock: this.clock, random, log: this.#log },
      {
        identity,
        timing: timingOf(config),
        blip: 10_000,
        formerIdentity,
        formerTerm,
        followers: given.followers ?? config.followers ?? "poll",
        lock: new LeaseLock({ client: this.link, at, labels: {}, annotations: {} }),
        whyNotToStand: () => this.#notStanding,
        announce: (event) => this.#announce(event),
      },
    );
  }

  get leads(): boolean {
    return this.#state === "running" && this.#elector.view().role === "leader";
  }

  get shown(): object {
    const { holder, isFree, term, role, missedRenewals, notStanding, lastError } = this.#elector.view();
    return {
      state: this.#state,
      valid: this.#problems === undefined,
      problems: this.#problems ?? [],
      role: this.#state === "running" ? role : undefined,
      holder: isFree ? "" : holder,
      transitions: term,
      missedRenewals,
      notStanding,
      lastError: lastError?.message,
    };
  }

  start(): void {
    this.#elector.run(this.#stop.signal, { carried: {}, lead: (term) => this.#lead(term) }).then(
      () => this.#end(),
      (error: unknown) => this.#end(error),
    );
  }

  stop(): void {
    this.#stop.abort(new Error("stopped"));
  }

  kill(): void {
    this.clock.die();
    this.link.cut = "both";
    this.#state = "killed";
    for (const led of this.#race.led) {
      if (led.candidate !== this.name || led.toMs !== undefined) continue;
      led.toMs = this.#now();
      led.why = "killed";
    }
  }

  hint(): void {
    this.#elector.readNow();
  }

  stepDown(rest: Millis): void {
    this.#elector.stepDown("told to step down", rest);
  }

  setStanding(why: string | undefined): void {
    this.#notStanding = why;
  }

  get #log(): Logger {
    const log: Logger = {
      ...noopLogger,
      child: () => log,
      info: (message, { holder } = {}) => {
        if (message === "lease holder changed" && typeof holder === "string") this.#see(holder);
      },
    };
    return log;
  }

  #see(holder: string): void {
    const last = this.#race.seen.findLast(({ by }) => by === this.name);
    if (last?.holder !== holder) this.#race.seen.push({ atMs: this.#now(), by: this.name, holder });
  }

  #end(error?: unknown): void {
    this.#state = this.#state === "killed" ? "killed" : "ended";
    if (error !== undefined) this.#problems = error instanceof ConfigError ? error.problems : [sentenceOf(error)];
  }

  async #lead({ number, signal }: Term): Promise<void> {
    const fromMs = this.#now();
    const led: Led = { candidate: this.name, term: number, fromMs, toMs: undefined, why: undefined };
    this.#race.led.push(led);
    await new Promise<void>((resolve) => {
      const end = (): void => {
        led.toMs = this.#now();
        led.why = signal.reason instanceof TermOver ? signal.reason.ending.why : sentenceOf(signal.reason);
        resolve();
      };
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
    });
    const { workStopsMs = 0 } = this.#given;
    if (workStopsMs > 0) await sleep(this.clock, workStopsMs, new AbortController().signal);
  }

  #announce({ message }: EventAction): void {
    this.#race.logged.push({ atMs: this.#now(), by: this.name, message });
  }

  #now(): Millis {
    return Math.round(this.clock.now().mono);
  }
}
