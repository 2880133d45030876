import { emptyBucket, fullBucket } from "../../../agent/base/token-bucket.ts";
import {
  type EvictionQueue,
  newQueue,
  type QueuedBoard,
} from "../../../agent/controllers/node-lifecycle/zones/eviction-queue.ts";
import { family } from "../family.ts";
import type { FormOf } from "../form.ts";
import { config, event, given, outcome } from "./tq/forms.ts";
import { at, QueueStory } from "./tq/queue-story.ts";

type Given = FormOf<typeof given>;

const usualQps = 0.1;

/** The boards of one zone that wait for their NoExecute taint (docs/kubernetes-rules.md#taint-queue). */
export const tq = family({
  name: "TQ",
  title: "the queue of a zone's boards that are to be tainted, at a limited rate",
  about:
    "Upstream's RateLimitedTimedQueue is here an immutable value and functions over it (eviction-queue.ts of " +
    "node-lifecycle), which node-lifecycle keeps one of per zone. A case adds and removes boards and hands out turns. " +
    "A try takes a token before it looks whether the head is due, and the token is gone also where it is not. A turn " +
    "that is not done makes its board wait from the instant at which the turn began, for waitMs and a nanosecond; a " +
    "board that was removed meanwhile is not put back. Time stands still during a try unless a result says takesMs. " +
    "SetRemove (the set alone) and Get are not there: nothing in the program, nor in Kubernetes 1.36, calls them.",
  config,
  given,
  event,
  outcome,
  examples: [
    {
      id: "TQ-03",
      family: "TQ",
      given: { limiter: "always" },
      steps: [
        { atMs: 0, event: { do: "add", names: ["first", "second", "third"] } },
        { atMs: 1, event: { do: "remove", name: "second" } },
        { atMs: 2, event: { do: "try" } },
      ],
      expect: { handled: ["first", "third"], seen: ["first", "third"], order: [] },
    },
    {
      id: "a turn that fails costs a token",
      family: "TQ",
      config: { qps: 0.1 },
      steps: [
        { atMs: 0, event: { do: "add", name: "pi-1" } },
        { atMs: 0, event: { do: "try", results: { "pi-1": { done: false, waitMs: 50 } } } },
        { atMs: 9999, event: { do: "try" } },
        { atMs: 10_000, event: { do: "try" } },
      ],
      expect: {
        tried: [
          { atMs: 0, name: "pi-1", done: false },
          { atMs: 10_000, name: "pi-1", done: true },
        ],
      },
    },
  ],
  run({ config, given, steps }) {
    const story = new QueueStory(firstQueue(given, config.qps ?? usualQps), given.limiter === "always");
    let end = at(0);
    const answers = steps.map(({ atMs, event }) => {
      const before = story.handled.length;
      end = at(atMs);
      const changed = story.happen(event, end);
      const answer = event.do === "try" ? { handled: story.handled.slice(before) } : { changed };
      return { atMs, do: event.do, ...answer, ...story.state(end) };
    });
    return { ...story.state(end), handled: story.handled, tried: story.tried, steps: answers };
  },
});

function firstQueue({ limiter = "bucket", waiting = [], seen = [] }: Given, qps: number): EvictionQueue {
  const entries = waiting.map(({ name, addedAtMs = 0, processAtMs = addedAtMs }): [string, QueuedBoard] => [
    name,
    { name, addedAt: at(addedAtMs), due: at(processAtMs) },
  ]);
  const queue = limited(limiter, qps);
  return { ...queue, waiting: new Map(entries), seen: new Set([...entries.map(([name]) => name), ...seen]) };
}

function limited(limiter: NonNullable<Given["limiter"]>, qps: number): EvictionQueue {
  if (limiter === "never") return newQueue(0, emptyBucket(at(0)));
  if (typeof limiter === "string") return newQueue(qps, fullBucket(at(0), 1));
  return newQueue(limiter.qps, { level: limiter.tokens ?? 1, at: at(0) });
}
