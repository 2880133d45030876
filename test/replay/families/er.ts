import { atOnce } from "../../../agent/base/steps.ts";
import { repack } from "../../../agent/controllers/endpoints/repack.ts";
import { truncate } from "../../../agent/controllers/endpoints/truncate.ts";
import { family } from "../family.ts";
import { list, optional, record } from "../form.ts";
import { addressForm, portsForm, showSubset, subsetsSchema } from "./er/texts.ts";

const addresses = (which: string) => optional(list(addressForm, { about: `Its ${which} addresses.` }));

const subset = record(
  { ready: addresses("ready"), notReady: addresses("other"), ports: optional(portsForm) },
  { about: "A subset. Empty lists may be left out." },
);

/**
 * Subsets of Endpoints in their canonical form (docs/kubernetes-rules.md#endpoint-subsets, #endpoints-over-capacity).
 */
export const er = family({
  name: "ER",
  title: "Endpoints: subsets in their canonical form",
  about:
    "No time passes: subsets go in, and come out with each address once for each port (upstream's RepackSubsets); " +
    "truncated shows what is left of them if they hold more than 1000 addresses. There are no steps.",
  config: record({}, { about: "This family has no parameters." }),
  given: record(
    { subsets: list(subset, { about: "The subsets, in their order." }) },
    { about: "The subsets to pack." },
  ),
  event: record({}, { about: "This family has no events: leave steps out." }),
  outcome: {
    type: "object",
    properties: {
      subsets: subsetsSchema,
      truncated: {
        type: "object",
        description: "Cut to 1000 addresses, the ready ones first. Not there where nothing is to be cut.",
        properties: {
          sizes: {
            type: "array",
            description: "Ready and other addresses of each subset that is left.",
            items: { type: "object", properties: { ready: { type: "integer" }, notReady: { type: "integer" } } },
          },
        },
      },
    },
  },
  examples: [
    {
      id: "ER-09",
      family: "ER",
      given: {
        subsets: [
          { ready: ["1.2.3.4"], ports: [111] },
          { ready: ["1.2.3.4"], ports: [222] },
        ],
      },
      expect: { subsets: [{ ready: ["1.2.3.4"], notReady: [], ports: { inAnyOrder: [111, 222] } }] },
    },
    {
      id: "not ready wins",
      family: "ER",
      given: { subsets: [{ ready: ["1.2.3.4"], notReady: ["1.2.3.4"], ports: [111] }] },
      expect: { subsets: [{ ready: [], notReady: ["1.2.3.4"], ports: [111] }] },
    },
  ],
  run({ given }) {
    const subsets = atOnce(
      repack(
        given.subsets.map(({ ready = [], notReady = [], ports = [] }) => ({
          addresses: ready,
          notReadyAddresses: notReady,
          ports,
        })),
      ),
    );
    const cut = truncate(subsets);
    const sizes = cut.subsets.map(({ addresses = [], notReadyAddresses = [] }) => ({
      ready: addresses.length,
      notReady: notReadyAddresses.length,
    }));
    return { subsets: subsets.map(showSubset), truncated: cut.isTruncated ? { sizes } : undefined };
  },
});
