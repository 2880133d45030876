import { type Clock, type Millis, sleep } from "../../../../agent/base/clock.ts";
import type { LeaseTiming } from "../../../../agent/base/lease-timing.ts";
import { budgetAnnotation } from "../../../../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import { type ElectorDeps, type LeaderCallbacks, LeaderElector } from "../../../../agent/election/leader-elector.ts";
import { type LeaderLock, type LeaseClient, LeaseLock } from "../../../../agent/election/lease-lock.ts";
import { FencedError } from "../../../../agent/execution/fence.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { LeaseLink, LeaseServer } from "../../../support/lease-server.ts";
import { ProcessClock } from "../../../support/process-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

export const edge: LeaseTiming = { duration: 60_000, renewDeadline: 40_000, retry: 10_000 };
export const classic: LeaseTiming = { duration: 15_000, renewDeadline: 10_000, retry: 2_000 };

/** A write that the work of a term sent. */
export interface TermWrite {
  readonly at: Millis;
  readonly by: string;
  readonly term: number;
}

export const usualLatency: LeaseLink["latency"] = { request: 20, answer: 20 };

export const linkTo = ({ server }: Election, by: string, clock: Clock): LeaseLink =>
  new LeaseLink({ server, clock, by, latency: usualLatency });

export const lockOver = (client: LeaseClient): LeaderLock =>
  new LeaseLock({ client, at: { namespace: "kube-system", name: "siteward" }, labels: {}, annotations: {} });

/** What a test wants of a board that is not as usual. `stopTakes`: how long the work of a term takes to stop. */
export type BoardOptions = Partial<ElectorDeps & LeaderCallbacks> & { readonly stopTakes?: Millis };

/** Boards that stand for one Lease. The work of a term is to write something every second, fenced. */
export class Election {
  readonly clock = new FakeClock();
  readonly server = new LeaseServer(this.clock);
  readonly writes: TermWrite[] = [];
  readonly boards = new Map<string, Board>();
  readonly #random: SeededRandom;

  constructor(seed = 1) {
    this.#random = new SeededRandom(seed);
  }

  join(name: string, options: BoardOptions = {}): Board {
    const board = new Board(this, name, options, new SeededRandom(this.#random.integer(2 ** 32)));
    this.boards.set(name, board);
    board.start();
    return board;
  }

  board(name: string): Board {
    const board = this.boards.get(name);
    if (!board) throw new Error(`there is no board ${name}`);
    return board;
  }

  get leaders(): readonly string[] {
    return [...this.boards.values()].filter((board) => board.leads).map(({ name }) => name);
  }

  get leader(): Board {
    const [leader, ...more] = this.leaders;
    if (leader === undefined || more.length > 0) throw new Error(`not one leader, but ${this.leaders}`);
    return this.board(leader);
  }

  get holder(): string | undefined {
    return this.server.lease?.holder;
  }

  /** Writes of a term that were sent after a later term had begun. There must never be any. */
  get lateWrites(): readonly TermWrite[] {
    const begun = this.server.changes.filter(({ what }) => what === "take" || what === "create");
    return this.writes.filter(({ at, term }) => begun.some((later) => (later.term ?? 0) > term && later.at < at));
  }

  async settled(): Promise<void> {
    await this.clock.until(() => this.leaders.length === 1, "5m");
  }

  async end(): Promise<void> {
    for (const board of this.boards.values()) board.stop();
    await this.clock.advance("1m");
  }
}

export class Board {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly link: LeaseLink;
  readonly log = new RecordingLog();
  readonly elector: LeaderElector;
  readonly #callbacks: LeaderCallbacks;
  readonly terms: number[] = [];
  /** Why its terms ended. */
  readonly endings: unknown[] = [];
  ended: { readonly error: unknown } | undefined;
  budget: string | undefined;
  sick: string | undefined;
  readonly found: Readonly<Record<string, string>>[] = [];
  readonly said: string[] = [];
  readonly #abort = new AbortController();
  #working = 0;

  constructor(election: Election, name: string, options: BoardOptions, random: SeededRandom) {
    this.name = name;
    this.clock = new ProcessClock(election.clock);
    this.link = linkTo(election, name, this.clock);
    const { stopTakes = 0, carried, onRead, lead, ...deps } = options;
    this.elector = new LeaderElector(
      { clock: this.clock, random, log: this.log },
      {
        lock: lockOver(this.link),
        identity: `${name}_${random.uuid()}`,
        timing: edge,
        blip: 10_000,
        followers: "expiry",
        whyNotToStand: () => this.sick,
        announce: ({ message }) => this.said.push(message.replace(/_\S+/, "")),
        ...deps,
      },
    );
    this.#callbacks = {
      carried: carried ?? { [budgetAnnotation]: () => this.budget },
      ...(onRead && { onRead }),
      lead:
        lead ??
        (async (term, found) => {
          this.#working++;
          if (this.#working > 1) throw new Error("two terms work at once on one board");
          this.terms.push(term.number);
          term.signal.addEventListener("abort", () => this.endings.push(term.signal.reason), { once: true });
          this.found.push(found.annotations);
          while (!term.signal.aborted) {
            try {
              if (!term.standsAt(this.clock.now())) throw new FencedError("over");
              election.writes.push({ at: this.clock.now().mono, by: name, term: term.number });
            } catch {
              // Fenced: the loop ends with the signal.
            }
            await sleep(this.clock, 1000, term.signal);
          }
          if (stopTakes > 0) await sleep(this.clock, stopTakes, new AbortController().signal);
          this.#working--;
        }),
    };
  }

  get leads(): boolean {
    return this.elector.view().role === "leader" && this.ended === undefined;
  }

  start(): void {
    this.elector.run(this.#abort.signal, this.#callbacks).then(
      () => {
        this.ended = { error: undefined };
      },
      (error: unknown) => {
        this.ended = { error };
      },
    );
  }

  /** SIGTERM. */
  stop(): void {
    this.#abort.abort(new Error("stopped"));
  }

  /** SIGKILL: nothing of it happens any more. */
  kill(): void {
    this.clock.suspend();
    this.link.cut = "both";
  }

  suspend(): void {
    this.clock.suspend();
  }

  resume(): void {
    this.clock.resume();
  }
}
