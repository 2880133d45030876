import type { Ambient } from "../../agent/base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../../agent/base/clock.ts";
import { formatDuration } from "../../agent/base/time/duration.ts";
import type { SitePicture } from "../view/site-picture.ts";
import { type Before, boardsNamed, objectionTo } from "./claims.ts";
import type { Deed, Expectation, Step } from "./scenario.ts";

/** The site on which a story is played. */
export interface StoryStage {
  picture(): SitePicture;
  /**
   * Performs the action on these boards or, if there are none, on the API server. Does not wait for actions that take
   * time.
   */
  perform(deed: Deed, boards: readonly string[]): void;
}

/** Interval between checks of pending expectations. */
const glance: Millis = 100;

interface Open {
  readonly expected: Expectation;
  readonly since: Instant;
  readonly before: Before;
}

/** Plays the steps of a scenario and checks its expectations. Reports each step and the result. */
export class Story {
  readonly #ambient: Pick<Ambient, "clock">;
  readonly #steps: readonly Step[];
  readonly #stage: StoryStage;
  readonly #say: (line: string) => void;
  #open: readonly Open[] = [];
  #failures = 0;
  #before: Before | undefined;

  constructor(
    ambient: Pick<Ambient, "clock">,
    deps: { readonly steps: readonly Step[]; readonly stage: StoryStage; readonly say: (line: string) => void },
  ) {
    this.#ambient = ambient;
    this.#steps = deps.steps;
    this.#stage = deps.stage;
    this.#say = deps.say;
  }

  /**
   * Plays the story, and returns the number of failed expectations. An abort ends the story early, in which case
   * pending expectations count as failed.
   */
  async run(signal: AbortSignal): Promise<number> {
    const { clock } = this.#ambient;
    const begun = clock.now();
    let next = 0;
    while (!signal.aborted) {
      const now = clock.now();
      for (let step = this.#steps[next]; step && elapsed(begun, now) >= step.at; step = this.#steps[++next]) {
        this.#take(step, now);
      }
      this.#judge(now);
      const coming = this.#steps[next];
      if (coming === undefined && this.#open.length === 0) return this.#failures;
      const wait = coming === undefined ? glance : Math.max(0, coming.at - elapsed(begun, now));
      await sleep(clock, this.#open.length === 0 ? wait : Math.min(wait, glance), signal);
    }
    const left = this.#open.length + this.#steps.slice(next).filter(({ expected }) => expected).length;
    return this.#failures + left;
  }

  #take(step: Step, now: Instant): void {
    const picture = this.#stage.picture();
    if (step.expected) {
      this.#open = [
        ...this.#open,
        { expected: step.expected, since: now, before: this.#before ?? { picture, hit: [] } },
      ];
      return;
    }
    const boards = boardsNamed(step.deed.targets, picture, this.#before?.hit ?? []);
    this.#before = { picture, hit: boards };
    const isPlain = boards.length === 0 || boards.join(" ") === step.deed.targets.join(" ");
    this.#say(`do ${inWords(step.deed)}${isPlain ? "" : ` (${boards.join(", ")})`}`);
    this.#stage.perform(step.deed, boards);
  }

  #judge(now: Instant): void {
    const picture = this.#stage.picture();
    this.#open = this.#open.filter(({ expected, since, before }) => {
      const objection = objectionTo(expected.claim, expected.of, picture, before);
      const age = elapsed(since, now);
      const what = `${expected.claim} ${expected.of.join(" ")}`;
      if (objection === undefined && age >= expected.for) {
        this.#say(`ok ${what}${age < glance ? "" : ` ${expected.for > 0 ? "for" : "after"} ${formatDuration(age)}`}`);
        return false;
      }
      if (objection === undefined || age < expected.within) return true;
      const limit = expected.within > 0 ? ` within ${formatDuration(expected.within)}` : "";
      this.#say(`FAILED ${what}${limit}: ${objection}`);
      this.#failures++;
      return false;
    });
  }
}

function inWords(deed: Deed): string {
  const what = `${deed.verb} ${deed.targets.join(" ")}`;
  switch (deed.verb) {
    case "slow":
      return `${what} by ${formatDuration(deed.delay)}`;
    case "flap":
      return `${what}, ${formatDuration(deed.down)} down, ${formatDuration(deed.up)} up`;
    case "restart":
      return `${what} for ${formatDuration(deed.for)}`;
    default:
      return what;
  }
}
