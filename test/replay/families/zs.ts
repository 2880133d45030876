import { counting, evictionRate, noBoards, zoneState } from "../../../agent/controllers/node-lifecycle/zones/zones.ts";
import { family } from "../family.ts";
import { record } from "../form.ts";
import { lifecycleParameters, lifecycleSettings } from "../settings.ts";
import { readyWords, statusOf } from "../shorthand.ts";
import { stateNames, stateSchema } from "../zone-names.ts";

export const zs = family({
  name: "ZS",
  title: "the state of a zone, from the Ready conditions of its boards",
  about: "No time passes: the list of Ready conditions goes in, the state of the zone comes out. There are no steps.",
  config: record(lifecycleParameters, { about: "Parameters that differ from the defaults." }),
  given: record({ ready: readyWords }, { about: "The zone." }),
  event: record({}, { about: "This family has no events: leave steps out." }),
  outcome: {
    type: "object",
    properties: {
      state: stateSchema,
      unhealthy: { type: "integer", description: "Boards that are not ready; one without a Ready condition is not." },
      size: { type: "integer", description: "All boards of the list." },
      qps: { type: "number", description: "Boards per second that may be tainted in a zone of this state and size." },
    },
  },
  examples: [
    {
      id: "ZS-05",
      family: "ZS",
      given: { ready: ["U", "U", "U", "T", "T"] },
      expect: { state: "PartialDisruption", unhealthy: 3 },
    },
  ],
  run({ config, given }) {
    const settings = lifecycleSettings(config);
    const count = given.ready.map(statusOf).reduce(counting, noBoards);
    const [state, size] = [zoneState(count, settings), given.ready.length];
    return { state: stateNames[state], unhealthy: count.notReady, size, qps: evictionRate(state, size, settings) };
  },
});
