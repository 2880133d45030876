import { describe, expect, test } from "vitest";
import type { EndpointSlice } from "../../../../agent/api/core.ts";
import { managedByLabel, serviceNameLabel } from "../../../../agent/controllers/slices/slice.ts";
import { sliceWake } from "../../../../agent/controllers/slices/wake.ts";
import type { SiteView } from "../../../../agent/loop/controller.ts";

const us = "endpointslice-controller.k8s.io";
const { keys } = sliceWake(us, 0);
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
    ["it is gone", slice(), undefined, ["default/web"]],
    ["what it says changes", slice(), slice({ generation: 2 }), ["default/web"]],
    ["another took its name", slice(), slice({ uid: "uid-other" }), ["default/web"]],
    ["it gets a label and the server counts none of them", slice(), slice({}, { extra: "1" }), ["default/web"]],
    [
      "it goes to another service",
      slice(),
      slice({ generation: 2 }, { [serviceNameLabel]: "db" }),
      ["default/web", "default/db"],
    ],
    ["it goes to another controller", slice(), slice({ generation: 2 }, { [managedByLabel]: "x" }), ["default/web"]],
    ["it comes from another", slice({}, { [managedByLabel]: "x" }), slice({ generation: 2 }), ["default/web"]],
  ])("when %s", (_when, before, after, expected) => {
    expect(woken(before, after)).toEqual(expected);
  });

  test.each([
    ["somebody annotates it", slice(), slice({ resourceVersion: "2", annotations: { note: "x" } })],
    ["it gets an owner", slice(), slice({ resourceVersion: "2", ownerReferences: [] })],
    ["it is another's", slice({}, { [managedByLabel]: "x" }), slice({ generation: 2 }, { [managedByLabel]: "x" })],
  ])("not when %s", (_when, before, after) => {
    expect(woken(before, after)).toEqual([]);
  });
});
