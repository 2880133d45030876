import { expect, test } from "vitest";
import type { DaemonSet, EndpointSlice, Pod } from "../../../../agent/api/core.ts";
import { pods as podsKind } from "../../../../agent/api/resources.ts";
import { atOnce, mapEachInSteps, type Steps } from "../../../../agent/base/steps.ts";
import { knownRevision, newRevision } from "../../../../agent/controllers/daemonset/history.ts";
import {
  decide as decideSlices,
  decideInSteps as decidingSlices,
} from "../../../../agent/controllers/endpoint-slice/decide.ts";
import { decideInSteps as decidingMirrored } from "../../../../agent/controllers/endpoint-slice-mirroring/decide.ts";
import { decideInSteps as decidingEndpoints } from "../../../../agent/controllers/endpoints/decide.ts";
import { noMemory as noEndpointsMemory } from "../../../../agent/controllers/endpoints/memory.ts";
import { selectedPods } from "../../../../agent/controllers/service/mappings.ts";
import type { SilentBoards } from "../../../../agent/controllers/service/readiness.ts";
import { noMemory as noSliceMemory } from "../../../../agent/controllers/slices/memory.ts";
import { countedSite } from "../counted-site.ts";
import { revisionOf, set } from "../daemonset/support/daemon-site.ts";
import { service, webPod } from "./objects.ts";

/*
 * Objects near the limit of what an API server takes: Services of 10 000 ports, templates of 5 000 terms. What they cost is CPU of
 * this process, and how it is spread over steps: neither depends on who else uses the machine.
 */

const now = { mono: 0, wall: 0 };
const pods: readonly Pod[] = Array.from({ length: 200 }, (_, i) => webPod(`web-${i}`, { ip: `10.0.0.${i}` }));
const zones = new Map([["pi-1", undefined]]);
const silence: SilentBoards = { policy: "kubernetes", held: undefined, boards: new Map() };

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

/** Each subset, and each pod, has a port that no other has: so many slices, which exist already. */
function mirroring(subsets: number): Steps<unknown> {
  const metadata = { name: "web", namespace: "default", uid: "uid-ep", resourceVersion: "1" };
  const all = Array.from({ length: subsets }, (_, i) => ({
    addresses: [{ ip: `10.0.${i >> 8}.${i & 255}` }],
    ports: [{ name: `p${i}`, port: i + 1, protocol: "TCP" }],
  }));
  return decidingMirrored(
    { kind: "mirrored", endpoints: { metadata, subsets: all }, slices: few(subsets) },
    noSliceMemory,
    1000,
  );
}

function differing(count: number): Steps<unknown> {
  const differ = Array.from({ length: count }, (_, i) => podNaming(`web-${i}`, [i + 1]));
  const of = service({ ports: [{ name: "p0", port: 1, targetPort: "p0" }] });
  const state = { pods: differ, slices: few(count), zones, shares: "not asked", silence } as const;
  return decidingSlices({ kind: "selected", service: of, ...state }, noSliceMemory, 100, now);
}

const few = (count: number): readonly EndpointSlice[] =>
  Array.from({ length: count }, (_, i) => ({
    metadata: { name: `s-${i}`, namespace: "default", uid: `uid-s-${i}`, resourceVersion: "1" },
    addressType: "IPv4",
    ports: [{ name: "p0", port: i + 1, protocol: "TCP" }],
    endpoints: [],
  }));

function podNaming(name: string, numbers: readonly number[]): Pod {
  const base = webPod(name);
  const ports = numbers.map((containerPort, i) => ({ name: `p${i}`, containerPort, protocol: "TCP" }));
  return { ...base, spec: { ...base.spec, containers: [{ name: "main", ports }] } };
}

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
  return mapEachInSteps(
    Array.from({ length: 20 }, (_, i) => revisionOf(owner, i, `r-${i}`)),
    (revision) => knownRevision(owner, revision),
  );
}

const much: Readonly<Record<string, (size: number) => Steps<unknown>>> = {
  "the Endpoints of a service by its ports": (size) => endpointsOf(size),
  "the slices of a service by its ports": (size) => slicesOf(size),
  "the Endpoints of a service by ports with names": (size) => endpointsOf(size / 10, true),
  "the slices of a service by ports with names": (size) => slicesOf(size / 10, true),
  "the mirrored slices of Endpoints by their subsets": (size) => mirroring(size / 5),
  "the slices of a service by pods that differ in a port": (size) => differing(size / 5),
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

test.each(Object.keys(much))("%s is computed in steps, each of which is a small part of the whole", (name) => {
  const shares = Array.from({ length: 3 }, () => {
    const { whole, longest } = costOf(much[name]?.(5000) as Steps<unknown>);
    return longest / whole;
  });
  // A collection of the heap may fall into any step.
  expect(Math.min(...shares)).toBeLessThan(0.25);
});

test.each(Object.keys(much))("%s costs CPU in proportion to its size, not to its square", (name) => {
  const best = (size: number): number =>
    Math.min(...Array.from({ length: 3 }, () => costOf(much[name]?.(size) as Steps<unknown>).whole));
  best(500);
  expect(best(5000)).toBeLessThan(30 * Math.max(1000, best(500)));
});

test("pods that differ in thousands of named ports are not all held in memory together, and fit into the heap", () => {
  const names = Array.from({ length: 5000 }, (_, i) => i);
  const of = service({ ports: names.map((i) => ({ name: `p${i}`, port: i + 1, targetPort: `p${i}` })) });
  const differ = Array.from({ length: 60 }, (_, i) =>
    podNaming(
      `web-${i}`,
      names.map((n) => n + i + 1),
    ),
  );
  const { site } = countedSite([[podsKind, differ]]);
  const selected = atOnce(selectedPods(of, site));
  expect(selected.length).toBe(60);
  const held = selected.flatMap(({ spec }) => (spec?.containers ?? []).map(({ ports }) => ports?.length ?? 0));
  expect(held.reduce((a, b) => a + b)).toBe(20_000);
  const state = { pods: selected, slices: [], zones, shares: "not asked", silence } as const;
  const { actions } = decideSlices({ kind: "selected", service: of, ...state }, noSliceMemory, 100, now);
  const ports = actions.map((action) => (action.do === "create" ? (action.object as EndpointSlice).ports : []));
  expect(ports.map((list) => list?.length).sort()).toEqual([0, ...Array.from({ length: 4 }, () => 5000)]);
});

test("pods of one template share one copy of their ports", () => {
  const names = Array.from({ length: 100 }, (_, i) => i + 1);
  const of = service({ ports: names.map((i) => ({ name: `p${i}`, port: i, targetPort: `p${i - 1}` })) });
  const { site } = countedSite([[podsKind, Array.from({ length: 20 }, (_, i) => podNaming(`web-${i}`, names))]]);
  const lists = atOnce(selectedPods(of, site)).map(({ spec }) => spec?.containers);
  expect(new Set(lists).size).toBe(1);
});
