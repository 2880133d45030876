import type { Step } from "../case.ts";
import { inStep } from "../malformed.ts";
import type { Outcome } from "../outcome.ts";
import type { Site } from "./site.ts";

export interface StoryParts<Event> {
  readonly site: Site;
  readonly steps: readonly Step<Event>[];
  /** Called at 0, after the events of that instant: starts the agent if it has not started yet. */
  begin(): Promise<void>;
  /**
   * Nothing acts between two events, unless one has to be waited for. Returns true if the site's state at that point is
   * its outcome.
   */
  happen(event: Event): Promise<boolean> | undefined;
  snapshot(): Outcome;
}

export interface Seen {
  /** One for each step. */
  readonly steps: readonly Outcome[];
  /** The end of the case. */
  readonly last: Outcome;
}

/**
 * Plays the steps in chronological order. At each instant events come first, then due timers fire, and then the site is
 * observed: one outcome for each step.
 */
export async function tellStory<Event>({ site, steps, begin, happen, snapshot }: StoryParts<Event>): Promise<Seen> {
  const seen: Outcome[] = [];
  let taken = 0;
  const look = (): void => {
    const outcome = snapshot();
    while (seen.length < taken) seen.push(outcome);
  };
  const tellUntil = async (atMs: number): Promise<void> => {
    for (let step = steps[taken]; step !== undefined && step.atMs <= atMs; step = steps[taken]) {
      taken++;
      try {
        const done = happen(step.event);
        if (done !== undefined && (await done)) look();
      } catch (error) {
        throw inStep(taken - 1, error);
      }
    }
  };
  site.kubelets.begin();
  await tellUntil(0);
  await begin();
  await site.settle();
  look();
  for (let step = steps[taken]; step !== undefined; step = steps[taken]) {
    await site.approach(step.atMs);
    await tellUntil(step.atMs);
    await site.settle();
    look();
  }
  const last = snapshot();
  await site.endTerm();
  return { steps: seen, last };
}
