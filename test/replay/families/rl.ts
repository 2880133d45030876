import { family } from "../family.ts";
import { inStep } from "../malformed.ts";
import { config, event, given } from "./rl/forms.ts";
import { Mirror } from "./rl/mirror.ts";
import { outcome } from "./rl/outcome.ts";

/** How the cache is kept up to date (docs/kubernetes-rules.md#reflector-loop, #request-retries). */
export const rl = family({
  name: "RL",
  title: "the reflector: lists, watches, and what follows when they fail",
  about:
    "The reflector of the program within its shared informer, with the real client and cache, against a server that " +
    "answers as the case says. What is mirrored is one cluster-wide collection (namespaces), whose objects are " +
    "name@version. The case ends at its last step; without steps at 0 ms. What is due at the instant of a step comes after it. Changes reach the store at the latest 50 ms " +
    "after they came, in groups. By decision the program differs from client-go in these: the first list is asked for " +
    'without a resourceVersion, page by page (not "0", which the server answers in one piece); later lists have a limit ' +
    "too and say NotOlderThan. A watch that broke for whatever reason is opened again from the last position, after a " +
    "backoff; it leads to a list only where the server has lost that position (410, or a resourceVersion from the future). " +
    "Where a watch ends so that the position may mean nothing to the server (at once, or silent, or with an internal " +
    "error, and without an event) a list of one object, metadata only, asks that first. A watch that is silent for " +
    "watchStallMs is torn down; one that has said nothing since it was opened is asked " +
    "about before, by a list of one object. After a restart the watch resumes at the stored position, first for 3 s, without a list. " +
    "Every object is told again 12 hours times 1 + jitter after the start, and after each such time. Watch-list " +
    "(sendInitialEvents) and MaxInternalErrorRetryDuration are not there.",
  config,
  given,
  event,
  outcome,
  examples: [
    {
      id: "RL-01",
      family: "RL",
      given: {
        lists: [{ resourceVersion: "10", pages: [["a@1", "b@2"], ["c@3"]] }],
        watches: [{ events: [{ type: "MODIFIED", object: "a@11", afterMs: 100 }] }],
      },
      steps: [{ atMs: 1000, event: { do: "look" } }],
      expect: {
        requests: [
          { verb: "LIST", resourceVersion: "", limit: 500 },
          { verb: "LIST", continue: "page 2" },
          {
            verb: "WATCH",
            resourceVersion: "10",
            allowWatchBookmarks: true,
            timeoutSeconds: { notBefore: 300, notAfter: 600 },
          },
        ],
        store: ["a@11", "b@2", "c@3"],
        resourceVersion: "11",
      },
    },
    {
      id: "the connection is refused three times",
      family: "RL",
      given: { watches: [{ error: "connectionRefused", times: 3 }] },
      steps: [{ atMs: 20_000, event: { do: "look" } }],
      expect: { verbs: ["LIST", "WATCH", "WATCH", "WATCH", "WATCH"], waits: [800, 1600, 3200] },
    },
  ],
  async run({ config, given, steps }) {
    const mirror = new Mirror(config, given);
    try {
      await mirror.clock.advance(0);
      const seen: object[] = [];
      for (const [index, { atMs, event }] of steps.entries()) {
        await mirror.happen(atMs, event).catch((error: unknown) => Promise.reject(inStep(index, error)));
        seen.push({ atMs, do: event.do, requests: mirror.server.requests.length, ...mirror.state });
      }
      const { interruptions, ended, state } = mirror;
      const { requests } = mirror.server;
      return {
        requests,
        verbs: requests.map(({ verb }) => verb),
        interruptions,
        waits: interruptions.map(({ waitMs }) => waitMs),
        told: mirror.notified,
        ended,
        ...state,
        steps: seen,
      };
    } finally {
      mirror.close();
    }
  },
});
