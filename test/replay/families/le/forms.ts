import { latest } from "../../case.ts";
import {
  choice,
  either,
  type FormOf,
  list,
  map,
  nothing,
  number,
  optional,
  type RecordOf,
  record,
  tagged,
  text,
  whole,
} from "../../form.ts";
import { remoteTime, startTime } from "../../site/case-time.ts";

const duration = (about: string) => number({ about: `${about} In milliseconds.`, min: 0, max: latest });
const candidate = text({ about: "A candidate, by the name that it has in given.candidates.", examples: ["baz"] });

const followers = choice(["poll", "expiry"], {
  about:
    "poll (the default of cases): client-go's loop, an attempt after each jittered retry period, whenever the observed " +
    "term ends. expiry (the program's default): a look when the observed term would end.",
});

export const config = record(
  {
    leaseDurationMs: optional(duration("How long others leave a silent leader alone; 10000 by default.")),
    renewDeadlineMs: optional(duration("A leader that could not renew for so long gives up; 7000 by default.")),
    retryPeriodMs: optional(duration("The pause between renewals, and about that between attempts; 2000 by default.")),
    followers: optional(followers),
    jitter: optional(
      number({
        about:
          "What chance says every time, from 0 (the default) to below 1: a pause of a follower is the retry period times " +
          "1 + 1.2 × jitter.",
        min: 0,
        max: 0.999_999,
      }),
    ),
    latencyMs: optional(duration("How long each request is under way before the API server sees it; 0 by default.")),
    startTime,
  },
  { about: "The settings that all candidates share. The Lease carries whole seconds of the duration." },
);

const leaseFields = {
  holder: optional(text({ about: 'holderIdentity; "" is a Lease that was released. "" by default.' })),
  leaseDurationSeconds: optional(whole({ about: "As its holder wrote it; none by default.", max: 2 ** 31 - 1 })),
  leaseTransitions: optional(whole({ about: "How often it changed hands; 0 by default." })),
};

const answers = [
  "Conflict",
  "NotFound",
  "AlreadyExists",
  "Forbidden",
  "TooManyRequests",
  "InternalError",
  "ServiceUnavailable",
  "ConnectionRefused",
  "silence",
  "lost",
] as const;

const fault = {
  verb: optional(choice(["get", "create", "update"], { about: "Which requests; all by default." })),
  by: optional(candidate),
  skip: optional(whole({ about: "How many of these go through before the first that fails; 0 by default.", min: 0 })),
  times: optional(whole({ about: "How many fail then; all by default.", min: 1 })),
  answer: choice(answers, {
    about:
      "The reason of the refusal; or silence: it never arrives and there is no answer; or lost: it is performed, and there " +
      "is no answer.",
  }),
};

const candidateForm = record(
  {
    identity: optional(text({ about: "The identity that it writes into the Lease; by default its name." })),
    startsAtMs: optional(duration("When its process starts; 0 by default.")),
    followers: optional(followers),
    wallAheadMs: optional(
      remoteTime("How far its wall clock is ahead of startTime, or behind it, in milliseconds; 0 by default."),
    ),
    formerIdentity: optional(
      text({
        about: "The identity of this board's former process, if it is provably gone: its Lease may be taken over.",
      }),
    ),
    formerTerm: optional(whole({ about: "The highest leaseTransitions that this board remembers.", min: 0 })),
    notStanding: optional(text({ about: "Why it does not stand for election, if it does not." })),
    workStopsMs: optional(duration("How long the work of its term takes to stop; 0 by default.")),
  },
  { about: "A process that stands for election." },
);

export type CandidateGiven = FormOf<typeof candidateForm>;

export const given = record(
  {
    lease: optional(
      either([nothing({ about: "There is none." }), record(leaseFields, { about: "The Lease." })], {
        about: "The Lease when the case begins; null, the default, if there is none.",
      }),
    ),
    candidates: optional(map(candidateForm, { about: "The candidates, by name; by default one called baz." })),
    others: optional(
      list(
        record(
          {
            holder: text({ about: "Its identity." }),
            leaseDurationSeconds: optional(
              whole({ about: "The values that it writes; by default those of the Lease." }),
            ),
            fromMs: optional(duration("Its first write; 0 by default.")),
            everyMs: duration("The time between its writes."),
            untilMs: duration("Its last write is not later than that."),
          },
          { about: "A holder that is not ours: it writes its renewals whatever the Lease says." },
        ),
        { about: "Other programs that renew the Lease." },
      ),
    ),
    faults: optional(list(record(fault, { about: "Requests that go wrong." }), { about: "From the beginning." })),
  },
  { about: "The API server and the candidates. A healthy API server answers at once." },
);

export type LeaseGiven = RecordOf<typeof leaseFields>;

export const event = tagged(
  "do",
  {
    write: leaseFields,
    renew: {},
    deleteLease: {},
    fault,
    heal: {},
    start: {
      candidate,
      identity: optional(text({ about: "The identity of the new process; the same one by default." })),
      formerIdentity: optional(text({ about: "As in given.candidates." })),
      formerTerm: optional(whole({ about: "As in given.candidates.", min: 0 })),
    },
    stop: { candidate },
    kill: { candidate },
    suspend: { candidate },
    resume: { candidate },
    cut: {
      candidate,
      what: optional(
        choice(["both", "answers"], { about: "both (default): nothing arrives. answers: only answers do not arrive." }),
      ),
    },
    restore: { candidate },
    hint: { candidate },
    stepDown: { candidate, restMs: duration("For how long it does not stand again.") },
    standing: {
      candidate,
      why: optional(text({ about: "Why it does not stand from now on; absent: it stands again." })),
    },
    setWall: { candidate, aheadMs: remoteTime("As wallAheadMs in given.candidates.") },
    look: {},
  },
  {
    write: "Somebody else writes these fields into the Lease, and creates it where there is none.",
    renew: "The holder, whoever it is, renews: only renewTime and resourceVersion change.",
    deleteLease: "Somebody deletes the Lease.",
    fault: "From now on requests go wrong.",
    heal: "No request goes wrong any more, those of given.faults neither.",
    start: "A new process of that candidate starts; one that runs is killed first.",
    stop: "SIGTERM: its work stops, and it gives the Lease back.",
    kill: "SIGKILL: nothing of it happens any more.",
    suspend: "SIGSTOP: its timers stand still, time does not.",
    resume: "SIGCONT: what became due meanwhile happens now.",
    cut: "Its link to the API server is cut: requests get no answer.",
    restore: "Its link is back.",
    hint: "It is told that the leader may be gone, and looks at once.",
    stepDown: "It gives the Lease away.",
    standing: "Whether it stands for election.",
    setWall: "Its wall clock is set.",
    look: "Nothing: the case lasts at least until then, and the state is in the outcome.",
  },
  { about: "What happens." },
);

export type Event = FormOf<typeof event>;
export type Config = FormOf<typeof config>;
