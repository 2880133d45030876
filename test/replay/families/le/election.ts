import type { Millis } from "../../../../agent/base/clock.ts";
import { LeaseServer } from "../../../support/lease-server.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import type { FormOf } from "../../form.ts";
import { MalformedCase } from "../../malformed.ts";
import { CaseTime } from "../../site/case-time.ts";
import { Candidate, type Led, type Logged, type Race, type Seen } from "./candidate.ts";
import type { CandidateGiven, Config, Event, given, LeaseGiven } from "./forms.ts";

type Given = FormOf<typeof given>;
type Other = NonNullable<Given["others"]>[number];

const usual: ReadonlyMap<string, CandidateGiven> = new Map([["baz", {}]]);

/** Candidates and one Lease, on a separate clock. */
export class Election {
  readonly clock: VirtualClock;
  readonly server: LeaseServer;
  readonly led: Led[] = [];
  readonly logged: Logged[] = [];
  readonly seen: Seen[] = [];
  readonly #time: CaseTime;
  readonly #race: Race;
  readonly #given: ReadonlyMap<string, CandidateGiven>;
  readonly #candidates = new Map<string, Candidate>();

  constructor(config: Config, { lease = null, candidates = usual, others = [], faults = [] }: Given) {
    this.#time = new CaseTime(config.startTime);
    this.clock = new VirtualClock(this.#time.begin);
    this.server = new LeaseServer(this.clock);
    this.#race = {
      clock: this.clock,
      server: this.server,
      config,
      led: this.led,
      logged: this.logged,
      seen: this.seen,
    };
    this.#given = candidates;
    if (lease) this.#write({ holder: "", ...lease });
    for (const fault of faults) this.server.break(fault);
    for (const other of others) this.clock.after(other.fromMs ?? 0, () => this.#renewOther(other));
    for (const [name, one] of candidates) this.clock.after(one.startsAtMs ?? 0, () => this.#startOnce(name, one));
  }

  /** Advances exactly to the step: timers due at its instant fire after it. */
  async happen(atMs: Millis, event: Event): Promise<void> {
    await this.clock.approach(atMs - this.clock.now().mono);
    this.#happen(event);
    await this.clock.advance(0);
  }

  get leaders(): readonly string[] {
    return [...this.#candidates.values()].filter(({ leads }) => leads).map(({ name }) => name);
  }

  get lease(): object | undefined {
    const { metadata, spec = {} } = this.server.object ?? {};
    if (metadata === undefined) return undefined;
    const { holderIdentity, leaseDurationSeconds, leaseTransitions, acquireTime, renewTime } = spec;
    return {
      holder: holderIdentity ?? "",
      leaseDurationSeconds,
      leaseTransitions,
      acquiredMs: this.#time.msOf(acquireTime),
      renewedMs: this.#time.msOf(renewTime),
      resourceVersion: metadata.resourceVersion,
    };
  }

  get candidates(): ReadonlyMap<string, object> {
    return new Map([...this.#candidates].map(([name, candidate]) => [name, candidate.shown]));
  }

  #happen(event: Event): void {
    switch (event.do) {
      case "write":
        this.#write(event);
        break;
      case "renew":
        this.#write({});
        break;
      case "deleteLease":
        this.server.remove();
        break;
      case "fault":
        this.server.break(event);
        break;
      case "heal":
        this.server.heal();
        break;
      case "look":
        break;
      case "start": {
        const { do: _do, candidate, ...changed } = event;
        this.#candidates.get(candidate)?.kill();
        this.#start(candidate, { ...this.#givenOf(candidate), ...changed });
        break;
      }
      default:
        this.#happenTo(this.#candidate(event.candidate), event);
    }
  }

  #happenTo(candidate: Candidate, event: Extract<Event, { candidate: string }>): void {
    switch (event.do) {
      case "stop":
        candidate.stop();
        break;
      case "kill":
        candidate.kill();
        break;
      case "suspend":
        candidate.clock.suspend();
        break;
      case "resume":
        candidate.clock.resume();
        break;
      case "cut":
        candidate.link.cut = event.what ?? "both";
        break;
      case "restore":
        candidate.link.cut = undefined;
        break;
      case "hint":
        candidate.hint();
        break;
      case "stepDown":
        candidate.stepDown(event.restMs);
        break;
      case "standing":
        candidate.setStanding(event.why);
        break;
      case "setWall":
        candidate.clock.wallAhead = event.aheadMs;
        break;
      case "start":
        break;
      default:
        event satisfies never;
    }
  }

  /** As another program does it. */
  #write({ holder, leaseDurationSeconds, leaseTransitions }: LeaseGiven): void {
    this.server.write({
      spec: {
        ...(holder !== undefined && { holderIdentity: holder }),
        ...(leaseDurationSeconds !== undefined && { leaseDurationSeconds }),
        ...(leaseTransitions !== undefined && { leaseTransitions }),
        renewTime: this.#time.stamp(this.clock.now().mono),
      },
    });
  }

  #startOnce(name: string, given: CandidateGiven): void {
    if (!this.#candidates.has(name)) this.#start(name, given);
  }

  #start(name: string, given: CandidateGiven): void {
    const candidate = new Candidate(this.#race, name, given);
    this.#candidates.set(name, candidate);
    candidate.start();
  }

  #renewOther(other: Other): void {
    const { holder, leaseDurationSeconds, everyMs, untilMs } = other;
    this.#write({ holder, ...(leaseDurationSeconds !== undefined && { leaseDurationSeconds }) });
    const next = this.clock.now().mono + everyMs;
    if (everyMs > 0 && next <= untilMs) this.clock.after(everyMs, () => this.#renewOther(other));
  }

  /** Events at the very instant of its start find it running. */
  #candidate(name: string): Candidate {
    const given = this.#givenOf(name);
    const { startsAtMs = 0 } = given;
    if (startsAtMs === this.clock.now().mono) this.#startOnce(name, given);
    const found = this.#candidates.get(name);
    if (found) return found;
    throw new MalformedCase([`${name} has not started yet; it starts at ${startsAtMs} ms`]);
  }

  #givenOf(name: string): CandidateGiven {
    const found = this.#given.get(name);
    if (found) return found;
    throw new MalformedCase([`there is no candidate ${JSON.stringify(name)} in given.candidates`]);
  }
}
