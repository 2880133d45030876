import { nodes } from "../../../agent/api/resources.ts";
import { nodeTaints } from "../../../agent/controllers/node-lifecycle/node-taints.ts";
import { family, type ReplayFamily } from "../family.ts";
import { list, record, tagged } from "../form.ts";
import { Boards } from "./boards.ts";
import { CaseTime, startTime } from "./case-time.ts";
import { journalSchema } from "./journal.ts";
import { happen, type NodeEvent, nodeEventNotes, nodeEvents } from "./node-events.ts";
import { nameOfNode, nodeForm } from "./node-form.ts";
import { Site } from "./site.ts";
import { boardsSchema, showBoards } from "./snapshot.ts";
import { tellStory } from "./story.ts";

export interface NodeTaintsFamily {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly examples: readonly object[];
}

const common =
  "The node-taints controller runs on the Nodes, with the control loop and the executor of the agent: it looks at each " +
  "Node at 0 ms and whenever the Node changes. No board is judged: conditions are as the case says.";

/** Families about taints and labels that follow from a Node alone. */
export const nodeTaintsFamily = ({ name, title, about, examples }: NodeTaintsFamily): ReplayFamily =>
  family({
    name,
    title,
    about: `${about} ${common}`,
    config: record({ startTime }, { about: "Parameters that differ from the defaults." }),
    given: record({ nodes: list(nodeForm, { about: "Nodes.", named: nameOfNode }) }, { about: "The state at 0 ms." }),
    event: tagged("do", nodeEvents, nodeEventNotes, { about: "What happens." }),
    outcome,
    examples,
    async run({ config, given, steps }) {
      const time = new CaseTime(config.startTime);
      const site = new Site(time);
      const { kubelets, refusals, journal, api } = site;
      const boards = new Boards(site, { time, readyLives: false });
      for (const node of given.nodes) boards.put(node);
      const seen = await tellStory<NodeEvent>({
        site,
        steps,
        begin: async () => site.start(site.loopOf(nodeTaints)),
        snapshot: () => ({ atMs: site.clock.now().mono, nodes: showBoards(api.all(nodes), undefined, time) }),
        happen(event) {
          happen(event, { boards, kubelets, refusals });
          return undefined;
        },
      });
      return { steps: seen.steps, nodes: seen.last.nodes, writes: journal.writes, taints: journal.taints };
    },
  });

const outcome = {
  type: "object",
  properties: {
    nodes: boardsSchema(false),
    writes: journalSchema.writes,
    taints: journalSchema.taints,
    steps: {
      type: "array",
      description: "One for each step: how the Nodes stood when all that was due at that instant had happened.",
      items: {
        type: "object",
        properties: { atMs: { type: "number", description: "ms of the case." }, nodes: boardsSchema(false) },
      },
    },
  },
};
