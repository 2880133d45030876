import type { Pod, Service } from "../../../agent/api/core.ts";
import { type TriggerTimes, triggerTime } from "../../../agent/controllers/service/trigger-time.ts";
import { latest } from "../case.ts";
import { family } from "../family.ts";
import { either, type FormOf, map, nothing, number, record, tagged } from "../form.ts";
import { CaseTime } from "../site/case-time.ts";

const moment = (about: string) =>
  number({ about: `${about} In ms of the case; cut to a whole second.`, min: 0, max: latest });

const event = tagged(
  "do",
  {
    sync: {
      created: moment("When the service was created (creationTimestamp)."),
      pods: map(
        either(
          [moment("lastTransitionTime of its Ready condition."), nothing({ about: "It has no such condition." })],
          {
            about: "Since when it is ready, or is not.",
          },
        ),
        { about: "All pods that the service selects at that time, by name." },
      ),
    },
    delete: {},
  },
  {
    sync: "The service is synced: the time of what caused the change is asked for.",
    delete: "The service is deleted, and seen to be.",
  },
  { about: "An event of the only service of the case." },
);

const answer = {
  type: ["number", "null"],
  description: "The time to tell, in ms of the case. null: the zero time, and the annotation is removed.",
};

/** The time of the change that caused an update of endpoints (docs/kubernetes-rules.md#trigger-time). */
export const tt = family({
  name: "TT",
  title: "the last-change trigger time of a service's endpoints",
  about:
    "Upstream's TriggerTimeTracker for one service: here a pure function of what was seen at the last sync and of what is " +
    "there now. Of a service that is seen for the first time it is its creation; later the earliest time that moved on. " +
    "Timestamps of the API count whole seconds: use multiples of 1000.",
  config: record({}, { about: "This family has no parameters." }),
  given: record({}, { about: "Nothing is there: the service was never seen." }),
  event,
  outcome: {
    type: "object",
    properties: {
      triggerMs: { ...answer, description: `${answer.description} Of the last sync.` },
      answers: { type: "array", description: "The answer to each sync, in order.", items: answer },
    },
  },
  examples: [
    {
      id: "TT-03",
      family: "TT",
      steps: [
        { atMs: 0, event: { do: "sync", created: 0, pods: {} } },
        { atMs: 5000, event: { do: "sync", created: 0, pods: { a: 2000, b: 1000 } } },
      ],
      expect: { triggerMs: 1000, answers: [0, 1000] },
    },
  ],
  run({ steps }) {
    const time = new CaseTime();
    let known: TriggerTimes | undefined;
    const answers: (number | null)[] = [];
    for (const { event } of steps) {
      if (event.do === "delete") {
        known = undefined;
        continue;
      }
      const { service, pods } = objectsOf(event, time);
      const { at, times } = triggerTime(known, service, pods);
      known = times;
      answers.push(time.msOf(at) ?? null);
    }
    return { triggerMs: answers.at(-1), answers };
  },
});

function objectsOf(
  { created, pods }: Extract<FormOf<typeof event>, { do: "sync" }>,
  time: CaseTime,
): { readonly service: Service; readonly pods: readonly Pod[] } {
  const stamp = (ms: number): string => time.stamp(Math.floor(ms / 1000) * 1000);
  const metadata = (name: string) => ({ name, namespace: "default", uid: `uid-${name}`, resourceVersion: "1" });
  return {
    service: { metadata: { ...metadata("service"), creationTimestamp: stamp(created) } },
    pods: [...pods].map(([name, since]) => ({
      metadata: metadata(name),
      status: {
        conditions: since === null ? [] : [{ type: "Ready", status: "True", lastTransitionTime: stamp(since) }],
      },
    })),
  };
}
