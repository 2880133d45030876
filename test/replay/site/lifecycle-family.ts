import { pods } from "../../../agent/api/resources.ts";
import type { Step } from "../case.ts";
import { family, type ReplayFamily } from "../family.ts";
import { choice, type FormOf, list, map, optional, type RecordOf, record, tagged, text } from "../form.ts";
import { MalformedCase } from "../malformed.ts";
import type { Outcome } from "../outcome.ts";
import { lifecycleParameters, lifecycleSettings } from "../settings.ts";
import { readyWords } from "../shorthand.ts";
import { stateSchema } from "../zone-names.ts";
import { Boards } from "./boards.ts";
import { CaseTime, startTime } from "./case-time.ts";
import { journalSchema } from "./journal.ts";
import { LifecycleSite } from "./lifecycle-site.ts";
import { happen, nodeEventNotes, nodeEvents } from "./node-events.ts";
import { nameOfNode, nodeForm } from "./node-form.ts";
import { isShortPod, nameOfPod, podForm, podFrom } from "./pod-form.ts";
import { boardsSchema, podsSchema, zonesSchema } from "./snapshot.ts";
import { tellStory } from "./story.ts";

const parameters = { ...lifecycleParameters, startTime };

const given = record(
  {
    zones: optional(
      map(readyWords, {
        about:
          'Zones by name, with boards that are named after it: {"A": "UT"} is A-0, Unknown, and A-1, ready. Each is as a Node ' +
          "in short with no other field.",
        examples: [{ A: "UU", B: "T" }],
      }),
    ),
    nodes: optional(list(nodeForm, { about: "Nodes, besides those of zones.", named: nameOfNode })),
    pods: optional(list(podForm, { about: "Pods.", named: nameOfPod })),
  },
  { about: "The state at 0 ms." },
);

const event = tagged(
  "do",
  {
    pass: {},
    ...nodeEvents,
    zone: { zone: text({ about: "A zone.", examples: ["A"] }), ready: readyWords },
    pod: { pod: podForm },
    deletePod: { pod: text({ about: "namespace/name, or the name of a pod in default.", examples: ["default/p1"] }) },
    leader: {
      budget: optional(
        choice(["kept", "lost"], {
          about:
            "kept, the default: the new leader reads in the Lease how far the zones' allowances are used. lost: it begins " +
            "with full ones, as kube-controller-manager does.",
        }),
      ),
    },
  },
  {
    pass:
      "A monitor pass. Where a case has such a step, passes happen when they are asked for and at no other time; the first " +
      "one is then the leader's first. Several of one instant are several passes.",
    ...nodeEventNotes,
    zone: "The boards of a zone post their status, one word for each, in the order of their names.",
    pod: "A pod appears, or becomes another: bound to a board, ready or not.",
    deletePod: "A pod is gone.",
    leader:
      "Another board leads from now on: what is only in memory is lost, and all boards are seen for the first time.",
  },
  { about: "What happens.", examples: [{ do: "status", node: "n0", ready: "F" }, { do: "look" }] },
);

type Event = FormOf<typeof event>;

export interface LifecycleFamily {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** Boards given as T or F renew their Leases without an event in the case. */
  readonly readyLives: boolean;
  readonly examples: readonly object[];
}

const common =
  "The leader's whole node-lifecycle controller runs on boards in memory, policy kubernetes, with the control loop and " +
  "the executor of the agent. A monitor pass happens at 0 ms and then every nodeMonitorPeriodMs, unless steps ask for " +
  "passes. Between passes NoExecute taints are put on as soon as the allowance of a zone permits. Events of an instant " +
  "come before the pass of that instant. The case ends with its last step: add a step with look to let time go on.";

/** Families about the judgement of boards: the same site, with different outcomes. */
export const lifecycleFamily = ({ name, title, about, readyLives, examples }: LifecycleFamily): ReplayFamily =>
  family({
    name,
    title,
    about: `${about} ${readyLives ? lives : silent} ${common}`,
    config: record(parameters, { about: "Parameters that differ from the defaults." }),
    given,
    event,
    outcome,
    examples,
    run: ({ config, given, steps }) => run({ config, given, steps, readyLives }),
  });

const lives =
  "A board that is given as T or F lives: it renews its Lease every 10 s. One that is given as U or - is silent. alive " +
  "says otherwise.";
const silent = "Boards are silent unless alive is true: what renews their Leases are the steps.";

async function run(options: {
  readonly config: RecordOf<typeof parameters>;
  readonly given: FormOf<typeof given>;
  readonly steps: readonly Step<Event>[];
  readonly readyLives: boolean;
}): Promise<Outcome> {
  const time = new CaseTime(options.config.startTime);
  const isAsked = options.steps.some((step) => step.event.do === "pass");
  const leader = new LifecycleSite({ time, settings: lifecycleSettings(options.config), isAsked });
  const { site } = leader;
  const boards = new Boards(site, { time, readyLives: options.readyLives });
  const putPod = (pod: FormOf<typeof podForm>): void =>
    void site.api.put(pods, isShortPod(pod) ? podFrom(pod, time.stamp(site.clock.now().mono)) : pod);
  for (const [zone, words] of options.given.zones ?? []) {
    for (const [index, ready] of words.entries()) boards.put({ name: `${zone}-${index}`, zone, ready });
  }
  for (const node of options.given.nodes ?? []) boards.put(node);
  for (const pod of options.given.pods ?? []) putPod(pod);

  const { steps, last } = await tellStory<Event>({
    site,
    steps: options.steps,
    begin: () => leader.begin(),
    snapshot: () => leader.snapshot(),
    happen(event) {
      switch (event.do) {
        case "pass":
          return leader.pass().then(() => true);
        case "leader":
          return leader.lead(event.budget !== "lost").then(() => false);
        case "zone":
          postZone(boards, event);
          break;
        case "pod":
          putPod(event.pod);
          break;
        case "deletePod":
          site.api.remove(pods, event.pod.includes("/") ? event.pod : `default/${event.pod}`);
          break;
        default:
          happen(event, { boards, kubelets: site.kubelets, refusals: site.refusals });
      }
      return undefined;
    },
  });
  const { zones, nodes, pods: bound } = last;
  return { steps, zones, nodes, pods: bound, ...leader.report() };
}

function postZone(boards: Boards, { zone, ready }: Extract<Event, { readonly do: "zone" }>): void {
  const names = boards.inZone(zone);
  if (names.length !== ready.length) {
    throw new MalformedCase([
      `zone ${JSON.stringify(zone)} has ${names.length} boards at that time, not ${ready.length}`,
    ]);
  }
  for (const [index, name] of names.entries()) {
    const word = ready[index];
    if (word !== undefined) boards.post(name, { ready: word });
  }
}

const snapshot = { zones: zonesSchema, nodes: boardsSchema(true), pods: podsSchema };

const outcome = {
  type: "object",
  properties: {
    ...snapshot,
    steps: {
      type: "array",
      description:
        "One for each step: how the site stood when all that was due at that instant had happened; for a pass, right " +
        "after it. zones, nodes and pods beside it say the same of the end of the case.",
      items: { type: "object", properties: { atMs: { type: "number", description: "ms of the case." }, ...snapshot } },
    },
    zoneChanges: {
      type: "array",
      description:
        "When the state or the rate of a zone changed, in order; the first entry of a zone is its first pass.",
      items: {
        type: "object",
        properties: {
          atMs: { type: "number", description: "ms of the case." },
          zone: { type: "string" },
          state: stateSchema,
          qps: { type: "number", description: "Boards per second that may be tainted; 0: none." },
        },
      },
    },
    ...journalSchema,
  },
};
