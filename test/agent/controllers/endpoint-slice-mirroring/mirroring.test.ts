import { describe, expect, test } from "vitest";
import type { EndpointSlice, Endpoints, Service } from "../../../../agent/api/core.ts";
import { serviceNameLabel } from "../../../../agent/api/index-values.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { endpointSliceMirroring } from "../../../../agent/controllers/endpoint-slice-mirroring/controller.ts";
import { decide } from "../../../../agent/controllers/endpoint-slice-mirroring/decide.ts";
import { controllerName, mirror } from "../../../../agent/controllers/endpoint-slice-mirroring/mirrored.ts";
import { noMemory } from "../../../../agent/controllers/slices/memory.ts";
import { managedByLabel } from "../../../../agent/controllers/slices/slice.ts";
import type { ObjectChange, SiteView } from "../../../../agent/loop/controller.ts";
import { service, slice } from "../service/objects.ts";

const made = (subsets: Endpoints["subsets"] = [], metadata: Partial<Endpoints["metadata"]> = {}): Endpoints => ({
  metadata: { name: "db", namespace: "default", uid: "uid-db", resourceVersion: "3", ...metadata },
  subsets,
});
const http = [{ name: "http", port: 80, protocol: "TCP" }];
const reference = {
  apiVersion: "v1",
  kind: "Endpoints",
  name: "db",
  uid: "uid-db",
  controller: true,
  blockOwnerDeletion: true,
};

const mirrored = (ip: string, more: Parameters<typeof slice>[2] = {}): EndpointSlice =>
  slice("db-x", [{ addresses: [ip], conditions: { ready: true } }], {
    ports: http,
    ...more,
    metadata: {
      labels: { [serviceNameLabel]: "db", [managedByLabel]: controllerName },
      ownerReferences: [reference],
      ...more.metadata,
    },
  });

/** "create IPv4 1, update db-x 2, remove db-y". */
function plan(endpoints: Endpoints, slices: readonly EndpointSlice[] = [], most = 1000): string {
  const { create, update, remove } = atOnce(mirror(endpoints, slices, most)).plan;
  return [
    ...create.map(({ addressType, endpoints: list }) => `create ${addressType} ${list.length}`),
    ...update.map(({ slice: { metadata }, content }) => `update ${metadata.name} ${content.endpoints.length}`),
    ...remove.map(({ metadata }) => `remove ${metadata.name}`),
  ].join(", ");
}

const one = made([{ addresses: [{ ip: "192.0.2.1" }], ports: http }]);

describe("Endpoints written by hand", () => {
  test.each([
    ["have a slice", one, [], "create IPv4 1"],
    ["have one complete slice", one, [mirrored("192.0.2.1")], ""],
    ["changed", one, [mirrored("192.0.2.9")], "update db-x 1"],
    ["have lost all addresses", made(), [mirrored("192.0.2.1")], "remove db-x"],
    [
      "have two slices, one of them superfluous",
      one,
      [mirrored("192.0.2.1"), mirrored("192.0.2.1", { metadata: { name: "db-y" } })],
      "remove db-y",
    ],
    [
      "have a slice of an older uid",
      one,
      [mirrored("192.0.2.1", { metadata: { ownerReferences: [{ ...reference, uid: "old" }] } })],
      "update db-x 1",
    ],
    ["carry another label", made(one.subsets, { labels: { a: "b" } }), [mirrored("192.0.2.1")], "update db-x 1"],
    [
      "carry another annotation",
      made(one.subsets, { annotations: { a: "b" } }),
      [mirrored("192.0.2.1")],
      "update db-x 1",
    ],
    [
      "carry the time of their change",
      made(one.subsets, { annotations: { "endpoints.kubernetes.io/last-change-trigger-time": "x" } }),
      [mirrored("192.0.2.1")],
      "",
    ],
    [
      "have addresses of both families",
      made([{ addresses: [{ ip: "192.0.2.1" }, { ip: "fd00::1" }], ports: http }]),
      [],
      "create IPv4 1, create IPv6 1",
    ],
    [
      "name an address in two subsets of the same port",
      made([
        { addresses: [{ ip: "192.0.2.1" }], ports: http },
        { notReadyAddresses: [{ ip: "192.0.2.2" }], ports: http },
      ]),
      [],
      "create IPv4 2",
    ],
  ])("%s", (_name, endpoints, slices, expected) => {
    expect(plan(endpoints, slices)).toBe(expected);
  });

  test("with more addresses than allowed are written once, and not again", () => {
    const many = made([{ addresses: [1, 2, 3, 4, 5].map((at) => ({ ip: `192.0.2.${at}` })), ports: http }]);
    const { plan: first, skipped, invalid } = atOnce(mirror(many, [], 3));
    expect([first.create[0]?.endpoints.length, skipped, invalid]).toEqual([3, 2, 0]);
    const endpoints = first.create[0]?.endpoints ?? [];
    expect(plan(many, [mirrored("", { endpoints: [...endpoints] })], 3)).toBe("");
  });

  test("keep their slice when a port changes", () => {
    const { actions } = decide(
      { kind: "mirrored", endpoints: one, slices: [mirrored("192.0.2.1", { ports: [] })] },
      noMemory,
      1000,
    );
    expect(actions).toMatchObject([{ do: "patch", target: { name: "db-x" }, patch: { ports: http } }]);
  });

  test("that are terminating do not get a new slice", () => {
    const leaving = made(one.subsets, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    expect(decide({ kind: "mirrored", endpoints: leaving, slices: [] }, noMemory, 1000).actions).toEqual([]);
  });
});

test("the remaining slices of deleted Endpoints are deleted, in the version that was read", () => {
  const { actions } = decide({ kind: "left", slices: [mirrored("192.0.2.1")] }, noMemory, 1000);
  const { resourceVersion } = mirrored("192.0.2.1").metadata;
  expect(actions).toMatchObject([{ do: "delete", target: { name: "db-x", uid: "uid-db-x", resourceVersion } }]);
});

describe("Endpoints written by the endpoints controller", () => {
  const written = made(one.subsets, { labels: { "endpoints.kubernetes.io/managed-by": "endpoint-controller" } });
  const changed = { ...written, metadata: { ...written.metadata, resourceVersion: "4" } };
  const woken = (of: Service | undefined, change: Partial<ObjectChange<Endpoints>>): readonly string[] => {
    const site: unknown = { lister: () => ({ get: () => of }) };
    const seen = { key: "default/db", before: undefined, after: undefined, ...change };
    return endpointSliceMirroring({ most: 1000 })
      .mappings.filter(({ on }) => on.plural === "endpoints")
      .flatMap(({ keys }) => [...keys(seen, site as SiteView)].filter((key) => key !== undefined));
  };
  const { selector: _none, ...noSelector } = service().spec ?? {};

  test.each([
    ["appears", { after: written }],
    ["changes", { before: written, after: changed }],
    ["is deleted", { before: written }],
  ])(
    "do not wake a key when the object %s, unless its service lost its selector or does not exist",
    (_when, change) => {
      expect(woken(service(), change)).toEqual([]);
      expect(woken({ ...service(), spec: noSelector }, change)).toEqual(["default/db"]);
      expect(woken(undefined, change)).toEqual(["default/db"]);
    },
  );

  test("are checked in a sweep and when the label is removed", () => {
    expect(woken(service(), { after: written, resync: "first" })).toEqual(["default/db"]);
    expect(woken(service(), { before: written, after: one })).toEqual(["default/db"]);
  });
});
