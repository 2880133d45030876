import { VirtualClock } from "../../support/virtual-clock.ts";
import { family } from "../family.ts";
import { config, event, given, outcome } from "./wq/forms.ts";
import { QueueStory } from "./wq/queue-story.ts";

/** The queue of keys to be processed (docs/kubernetes-rules.md#work-queue, #rate-limiters). */
export const wq = family({
  name: "WQ",
  title: "the work queue: items, delays, and the limiter of what failed",
  about:
    "Upstream's basic, delaying and rate-limiting queue are one class here, the queue of every control loop. Promised are: " +
    "an item is never with two workers at once; added while it waits it is one entry; added while it is worked on it comes " +
    "once more after done. The case ends at its last step; look makes it last longer. What is due at the very instant of a step comes after it. ShutDownWithDrain is not there (a " +
    "control loop waits for its workers by itself), nor are expectations: no controller of this program creates pods yet.",
  config,
  given,
  event,
  outcome,
  examples: [
    {
      id: "WQ-07",
      family: "WQ",
      given: { workers: { count: 1 } },
      steps: [
        { atMs: 0, event: { do: "addAfter", item: "x", afterMs: 20 } },
        { atMs: 0, event: { do: "addAfter", item: "x", afterMs: 50 } },
        { atMs: 100, event: { do: "look" } },
      ],
      expect: { deliveries: { x: [20] } },
    },
    {
      id: "by hand",
      family: "WQ",
      steps: [
        { atMs: 0, event: { do: "add", items: ["a", "b"] } },
        { atMs: 0, event: { do: "get" } },
        { atMs: 5, event: { do: "add", item: "a" } },
        { atMs: 9, event: { do: "done", item: "a" } },
        { atMs: 9, event: { do: "get" } },
        { atMs: 9, event: { do: "get" } },
      ],
      expect: { delivered: [{ item: "a" }, { item: "b" }, { item: "a", atMs: 9 }] },
    },
    {
      id: "a limiter alone",
      family: "WQ",
      config: { limiter: { kind: "exponential", baseMs: 1, maxMs: 1000 } },
      steps: [{ atMs: 0, event: { do: "when", items: ["one", "one", "one"] } }],
      expect: { waits: [1, 2, 4] },
    },
  ],
  async run({ config, given, steps }) {
    const clock = new VirtualClock({ mono: 0, wall: 0 });
    const story = new QueueStory(clock, config.limiter);
    if (given.workers) story.employ(given.workers);
    const results: object[] = [];
    for (const { atMs, event } of steps) {
      await clock.approach(atMs - clock.now().mono);
      const before = story.delivered.length;
      const answers = story.happen(event);
      await clock.advance(0);
      const item = event.do === "get" ? story.delivered.slice(before).at(-1)?.item : undefined;
      results.push({ atMs, do: event.do, answers, item, ...story.state });
    }
    const { state, delivered, deliveries, ended, waiting, requeues, waits } = story;
    story.end();
    return { ...state, delivered, deliveries, ended, waiting, requeues, waits, steps: results };
  },
});
