import { expect, test } from "vitest";
import type { DaemonSet, Pod } from "../../../../agent/api/core.ts";
import type { Steps } from "../../../../agent/base/steps.ts";
import { historyOf, newRevision } from "../../../../agent/controllers/daemonset/history.ts";
import { deciding as decidingSlices } from "../../../../agent/controllers/endpoint-slice/decide.ts";
import { deciding as decidingEndpoints } from "../../../../agent/controllers/endpoints/decide.ts";
import { noMemory as noEndpointsMemory } from "../../../../agent/controllers/endpoints/memory.ts";
import type { Silence } from "../../../../agent/controllers/service/readiness.ts";
import { noMemory as noSliceMemory } from "../../../../agent/controllers/slices/memory.ts";
import { revisionOf, set } from "../daemonset/support/daemon-site.ts";
import { service, webPod } from "./objects.ts";

/*
 * Objects near the limit of what an API server takes: Services of 10 000 ports, templates of 5 000 terms. What they cost is CPU of
 * this process, and how it is spread over steps: neither depends on who else uses the machine.
 */

const now = { mono: 0, wall: 0 };
const pods: readonly Pod[] = Array.from({ length: 200 }, (_, i) => webPod(`web-${i}`, { ip: `10.0.0.${i}` }));
const zones = new Map([["pi-1", undefined]]);
const silence: Silence = { policy: "kubernetes", held: undefined, boards: new Map() };

const webOf = (ports: number, named: boolean) =>
  service({
    ports: Array.from({ length: ports }, (_, i) => ({
      name: `p${i}`,
      port: i + 1,
      targetPort: named && i % 10 === 0 ? `p${i}` : i + 1,
    })),
  });

const endpointsOf = (ports: number, named = false): Steps<unknown> =>
  decidingEndpoints(
    { kind: "selected", service: webOf(ports, named), pods, endpoints: undefined, silence },
    noEndpointsMemory,
  );

const slicesOf = (ports: number, named = false): Steps<unknown> =>
  decidingSlices(
    { kind: "selected", service: webOf(ports, named), pods, slices: [], zones, shares: "not asked", silence },
    noSliceMemory,
    100,
    now,
  );

function wide(terms: number): DaemonSet {
  const owner = set();
  const nodeSelectorTerms = Array.from({ length: terms }, (_, i) => ({
    matchExpressions: [{ key: "a", operator: "In", values: [`v-${i}`] }],
  }));
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
  const template = { ...owner.spec?.template, spec: { ...owner.spec?.template.spec, affinity } };
  return { ...owner, spec: { ...owner.spec, template } } as DaemonSet;
}

function historyOfMany(terms: number): Steps<unknown> {
  const owner = wide(terms);
  return historyOf(
    owner,
    Array.from({ length: 20 }, (_, i) => revisionOf(owner, i, `r-${i}`)),
  );
}

const much: Readonly<Record<string, (size: number) => Steps<unknown>>> = {
  "the Endpoints of a service by its ports": (size) => endpointsOf(size),
  "the slices of a service by its ports": (size) => slicesOf(size),
  "the Endpoints of a service by ports with names": (size) => endpointsOf(size / 10, true),
  "the slices of a service by ports with names": (size) => slicesOf(size / 10, true),
  "the revision of a template by its terms": (size) => newRevision(wide(size / 2)),
  "the revisions of a set": (size) => historyOfMany(size / 20),
};

/** CPU in microseconds. */
function costOf(steps: Steps<unknown>): { readonly whole: number; readonly longest: number } {
  let [whole, longest] = [0, 0];
  for (let done: boolean | undefined = false; !done; ) {
    const before = process.cpuUsage();
    done = steps.next().done;
    const { user, system } = process.cpuUsage(before);
    whole += user + system;
    longest = Math.max(longest, user + system);
  }
  return { whole, longest };
}

test.each(Object.keys(much))("%s: worked out in steps, none of which is much of the whole", (name) => {
  const shares = Array.from({ length: 3 }, () => {
    const { whole, longest } = costOf(much[name]?.(5000) as Steps<unknown>);
    return longest / whole;
  });
  // A collection of the heap may fall into any step.
  expect(Math.min(...shares)).toBeLessThan(0.25);
});

test.each(Object.keys(much))("%s: cost CPU as their size grows, not as its square", (name) => {
  const best = (size: number): number =>
    Math.min(...Array.from({ length: 3 }, () => costOf(much[name]?.(size) as Steps<unknown>).whole));
  best(500);
  expect(best(5000)).toBeLessThan(30 * Math.max(1000, best(500)));
});
