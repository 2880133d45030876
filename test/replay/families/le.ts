import type { LeaseRequest } from "../../support/lease-server.ts";
import { family } from "../family.ts";
import { inStep } from "../malformed.ts";
import { Election } from "./le/election.ts";
import { config, event, given } from "./le/forms.ts";
import { outcome } from "./le/outcome.ts";

/** Who leads (docs/kubernetes-rules.md#leader-election). */
export const le = family({
  name: "LE",
  title: "leader election by a Lease",
  about:
    "Each candidate is the program's own elector (leader-elector.ts, lease-rules.ts) with its own lock (lease-lock.ts), " +
    "against an API server that holds one Lease. What happens at the same instant as an attempt of a candidate happens " +
    "before it. The case ends at its last step; without steps at 0 ms. A candidate always releases its Lease when it stops " +
    "(ReleaseOnCancel). It believes in a term from the instant at which the attempt to win or renew it began, for the " +
    "duration in the Lease less the larger of 10 % and 2 s. A renewal is an update without a get in front of it, on the " +
    "wire a merge patch with uid and resourceVersion. A follower tells a renewal by the resourceVersion, whatever the times " +
    "inside say. A Lease that bears its own identity is its own where it meets it for the first time; afterwards it knows by " +
    "the renewTime what it wrote itself. A leader ends its term at the second renewal under its name, within one duration, " +
    "that it did not write; who does not lead waits for such a holder as for anybody. Coordinated election (preferredHolder, LeaseCandidate) and the health adaptor are not there.",
  config,
  given,
  event,
  outcome,
  examples: [
    {
      id: "LE-03",
      family: "LE",
      given: { lease: { holder: "bing", leaseDurationSeconds: 3 } },
      steps: [{ atMs: 3000, event: { do: "hint", candidate: "baz" } }],
      expect: {
        requests: [
          { atMs: 0, verb: "get" },
          { atMs: 2000, verb: "get" },
          { atMs: 3000, verb: "get" },
          { atMs: 3000, verb: "update" },
        ],
        leading: [{ candidate: "baz", term: 1, fromMs: 3000 }],
        lease: { holder: "baz", leaseTransitions: 1 },
      },
    },
    {
      id: "a leader that is killed is followed by the other one",
      family: "LE",
      given: { candidates: { baz: {}, qux: { startsAtMs: 100 } } },
      steps: [
        { atMs: 5000, event: { do: "kill", candidate: "baz" } },
        { atMs: 20_000, event: { do: "look" } },
      ],
      expect: {
        leading: [
          { candidate: "baz", term: 0 },
          { candidate: "qux", fromMs: { notAfter: 17_000 } },
        ],
        steps: [{ leaders: [] }, { leaders: ["qux"] }],
      },
    },
    {
      id: "the second update meets a conflict",
      family: "LE",
      given: { faults: [{ verb: "update", skip: 1, times: 1, answer: "Conflict" }] },
      steps: [{ atMs: 6500, event: { do: "look" } }],
      expect: { calls: { baz: ["get", "create", "update", "update", "get", "update", "update"] } },
    },
  ],
  async run({ config, given, steps }) {
    const election = new Election(config, given);
    if (steps.length === 0) await election.clock.advance(0);
    const answers: object[] = [];
    for (const [index, { atMs, event }] of steps.entries()) {
      await election.happen(atMs, event).catch((error: unknown) => Promise.reject(inStep(index, error)));
      const { leaders, lease } = election;
      answers.push({ atMs, do: event.do, leaders, lease });
    }
    const { leaders, lease, candidates, led } = election;
    const requests = election.server.requests.map(shownRequest);
    const calls = new Map<string, string[]>();
    for (const { by, verb } of requests) calls.set(by, [...(calls.get(by) ?? []), verb]);
    return {
      leaders,
      lease,
      candidates,
      leading: led,
      requests,
      calls,
      events: election.logged,
      seen: election.seen,
      steps: answers,
    };
  },
});

function shownRequest({ at, by, verb, answer, lease }: LeaseRequest) {
  const { holderIdentity, leaseDurationSeconds, leaseTransitions } = lease?.spec ?? {};
  const holder = lease && (holderIdentity ?? "");
  return { atMs: Math.round(at), by, verb, answer, holder, leaseDurationSeconds, leaseTransitions };
}
