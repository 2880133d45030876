import { describe, expect, test } from "vitest";
import type { EndpointSlice } from "../../../../agent/api/core.ts";
import { serviceNameLabel } from "../../../../agent/api/index-values.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { enqueueOnSlice, slicesOf } from "../../../../agent/controllers/slices/enqueue.ts";
import { managedByLabel } from "../../../../agent/controllers/slices/slice.ts";
import type { SiteView } from "../../../../agent/loop/controller.ts";

const us = "endpointslice-controller.k8s.io";
const { keys } = enqueueOnSlice(us, 0);
const nothing: Partial<SiteView> = {};

const slice = (metadata: Partial<EndpointSlice["metadata"]> = {}, labels: object = {}): EndpointSlice => ({
  metadata: {
    name: "web-x",
    namespace: "default",
    uid: "uid-x",
    resourceVersion: "1",
    generation: 1,
    labels: { [serviceNameLabel]: "web", [managedByLabel]: us, ...labels },
    ...metadata,
  },
  addressType: "IPv4",
  endpoints: [],
  ports: [],
});

const woken = (before: EndpointSlice | undefined, after: EndpointSlice | undefined): readonly string[] => [
  ...new Set(
    [...keys({ key: "default/web-x", before, after }, nothing as SiteView)].filter((key) => key !== undefined),
  ),
];

describe("a slice wakes its service", () => {
  test.each([
    ["it appears", undefined, slice(), ["default/web"]],
    ["it is deleted", slice(), undefined, ["default/web"]],
    ["its content changes", slice(), slice({ generation: 2 }), ["default/web"]],
    ["another slice takes its name", slice(), slice({ uid: "uid-other" }), ["default/web"]],
    ["it gets a label and its generation does not change", slice(), slice({}, { extra: "1" }), ["default/web"]],
    [
      "it moves to another service",
      slice(),
      slice({ generation: 2 }, { [serviceNameLabel]: "db" }),
      ["default/web", "default/db"],
    ],
    ["it moves to another controller", slice(), slice({ generation: 2 }, { [managedByLabel]: "x" }), ["default/web"]],
    ["it moves from another service", slice({}, { [managedByLabel]: "x" }), slice({ generation: 2 }), ["default/web"]],
  ])("when %s", (_when, before, after, expected) => {
    expect(woken(before, after)).toEqual(expected);
  });

  test.each([
    ["an annotation is added", slice(), slice({ resourceVersion: "2", annotations: { note: "x" } })],
    ["it gets an owner", slice(), slice({ resourceVersion: "2", ownerReferences: [] })],
    [
      "it belongs to another controller",
      slice({}, { [managedByLabel]: "x" }),
      slice({ generation: 2 }, { [managedByLabel]: "x" }),
    ],
  ])("but not when %s", (_when, before, after) => {
    expect(woken(before, after)).toEqual([]);
  });
});

describe("the cache of a service's slices", () => {
  const wide = (version: number): Readonly<Record<string, string>> =>
    Object.fromEntries(Array.from({ length: 995 }, (_, i) => [`${"n".repeat(300)}${i}`, `v${version}`]));
  const own = { [serviceNameLabel]: "web", [managedByLabel]: us };

  /** Each slice is decoded anew, as from a cache. */
  const read = (...slices: readonly EndpointSlice[]): readonly EndpointSlice[] => {
    const byIndex = () => slices.map((each) => structuredClone(each)).values();
    return atOnce(slicesOf("default/web", us, { lister: () => ({ byIndex }) } as unknown as SiteView));
  };

  test("holds equal labels, annotations and ports once", () => {
    const each = { ...slice({ annotations: { note: "x" } }, wide(0)), ports: [{ name: "http", port: 80 }] };
    const [first, ...others] = read(...Array.from({ length: 100 }, () => each));
    expect(first).toEqual({ ...each, metadata: { ...each.metadata, ownerReferences: [] } });
    for (const other of others) {
      expect(other.metadata.labels).toBe(first?.metadata.labels);
      expect(other.metadata.annotations).toBe(first?.metadata.annotations);
      expect(other.ports).toBe(first?.ports);
    }
  });

  test("holds different labels up to a limit in characters, and slices beyond it count as relabelled", () => {
    const found = read(...Array.from({ length: 100 }, (_, version) => slice({}, wide(version))));
    const whole = found.filter(({ metadata: { labels = {} } }) => Object.keys(labels).length === 997);
    expect(whole.length).toBeGreaterThan(1);
    expect(whole.length).toBeLessThan(5);
    for (const { metadata } of found.slice(whole.length)) expect(metadata.labels).toEqual(own);
  });
});
