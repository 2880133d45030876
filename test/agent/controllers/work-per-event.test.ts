import { describe, expect, test } from "vitest";
import type { DaemonSet, Pod, Service } from "../../../agent/api/core.ts";
import { type KubeObject, keyOf } from "../../../agent/api/meta.ts";
import { daemonSets, nodes, pods, type Resource, resourceName, services } from "../../../agent/api/resources.ts";
import type { Instant } from "../../../agent/base/clock.ts";
import { atOnce } from "../../../agent/base/steps.ts";
import type { BoardVerdictDeps } from "../../../agent/controllers/board-verdicts.ts";
import { daemonSet } from "../../../agent/controllers/daemonset/controller.ts";
import { endpointSlicesOfServices } from "../../../agent/controllers/endpoint-slice/controller.ts";
import { endpointSliceMirroring } from "../../../agent/controllers/endpoint-slice-mirroring/controller.ts";
import { endpointsOfServices } from "../../../agent/controllers/endpoints/controller.ts";
import { kindOf } from "../../../agent/informer/kinds/kinds.ts";
import type { Lister } from "../../../agent/informer/lister.ts";
import { neverConnected, recordOpen, recordProof, recordReceipt } from "../../../agent/informer/watch-health.ts";
import type { Controller, ObjectChange, SiteView } from "../../../agent/loop/controller.ts";
import { lifecycleSettings } from "../../replay/settings.ts";
import { node, pod } from "../../support/builders.ts";

const now: Instant = { mono: 60_000, wall: 1_800_000_000_000 };
const settings = lifecycleSettings({});
const verdictDeps: BoardVerdictDeps = { settings, judge: () => "no judge" };

interface Size {
  readonly boards: number;
  readonly services: number;
  /** Of each service, and as many again that no service selects. */
  readonly pods: number;
}

/** One agent on every board, and services with five pods each; two sites differ only in these numbers. */
class CountedSite implements SiteView {
  readonly now = now;
  readonly inTurns = atOnce;
  /** Objects that were read, by resource. */
  readonly read = new Map<string, number>();
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #indices = new Map<string, Map<string, KubeObject[]>>();

  constructor({ boards, services: count, pods: each }: Size) {
    const names = Array.from({ length: boards }, (_, i) => `pi-${i}`);
    for (const name of names) this.#put(nodes, node(name));
    this.#put(daemonSets, agents);
    for (const name of names) this.#put(pods, agentOn(name));
    for (let i = 0; i < count; i++) {
      this.#put(services, service(`shop-${i}`));
      for (let j = 0; j < each; j++) {
        const board = names[(i + j) % boards] ?? "";
        this.#put(pods, serving(`shop-${i}-${j}`, board, { app: `shop-${i}` }));
        this.#put(pods, serving(`batch-${i}-${j}`, board, { job: `batch-${i}` }));
      }
    }
  }

  lister<T extends KubeObject>(resource: Resource<T>): Lister<T> {
    const name = resourceName(resource);
    const all = this.#objects.get(name) ?? new Map<string, KubeObject>();
    const countRead = this.#countRead.bind(this);
    const rowsOf = (index: string) => this.#indices.get(`${name} ${index}`) ?? new Map<string, KubeObject[]>();
    const lister: Lister<KubeObject> = {
      get: (key) => {
        const object = all.get(key);
        if (object !== undefined) countRead(name);
        return object;
      },
      *list() {
        for (const object of all.values()) {
          countRead(name);
          yield object;
        }
      },
      *byIndex(index, value) {
        for (const object of rowsOf(index).get(value) ?? []) {
          countRead(name);
          yield object;
        }
      },
      *referencesByIndex(index, value) {
        yield* rowsOf(index).get(value) ?? [];
      },
      *indexValues(index) {
        yield* rowsOf(index).keys();
      },
      countByIndex: (index, value) => (rowsOf(index).get(value) ?? []).length,
      size: all.size,
    };
    return lister as Lister<T>;
  }

  async fetch<T extends KubeObject>(): Promise<T | undefined> {
    return undefined;
  }

  watch() {
    return recordProof(recordReceipt(recordOpen(neverConnected, settings, now), settings, now), now);
  }

  position(): undefined {}

  #countRead(resource: string): void {
    this.read.set(resource, (this.read.get(resource) ?? 0) + 1);
  }

  #put<T extends KubeObject>(resource: Resource<T>, object: T): void {
    const name = resourceName(resource);
    const all = this.#objects.get(name) ?? new Map<string, KubeObject>();
    this.#objects.set(name, all.set(keyOf(object), object));
    for (const [index, valuesOf] of Object.entries(kindOf(resource).indices)) {
      const rows = this.#indices.get(`${name} ${index}`) ?? new Map<string, KubeObject[]>();
      this.#indices.set(`${name} ${index}`, rows);
      for (const value of valuesOf(object)) rows.set(value, [...(rows.get(value) ?? []), object]);
    }
  }
}

/** A pod that serves, with these labels. */
function serving(name: string, board: string, labels: Readonly<Record<string, string>>): Pod {
  const made = pod(name, { on: board });
  return { ...made, metadata: { ...made.metadata, labels }, status: { ...made.status, podIPs: [{ ip: "10.0.0.1" }] } };
}

const agents: DaemonSet = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: "agent", namespace: "default", uid: "agent-uid", resourceVersion: "1", generation: 1 },
  spec: {
    selector: { matchLabels: { app: "agent" } },
    template: { metadata: { labels: { app: "agent" } }, spec: { containers: [] } },
  },
};

const agentOn = (board: string): Pod => {
  const made = serving(`agent-${board}`, board, { app: "agent" });
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "agent-uid", controller: true };
  return { ...made, metadata: { ...made.metadata, ownerReferences: [owner] } };
};

const service = (name: string): Service => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "default", uid: `${name}-uid`, resourceVersion: "1" },
  spec: { selector: { app: name }, clusterIP: "10.1.0.1", ports: [{ name: "http", port: 80 }] },
});

/** Finds whom a change of a pod concerns, and looks at those. */
const lookOf =
  <State, Memory>({ mappings: wakes, observe, initialMemory }: Controller<State, Memory>) =>
  async (change: ObjectChange<KubeObject>, site: SiteView): Promise<void> => {
    const keys = new Set(wakes.filter(({ on }) => on === pods).flatMap((wake) => [...wake.keys(change, site)]));
    for (const key of keys) if (key !== undefined) await observe(key, site, initialMemory);
  };

const looks = [
  lookOf(daemonSet({ verdictDeps })),
  lookOf(endpointsOfServices({ verdictDeps, batch: 0 })),
  lookOf(endpointSlicesOfServices({ verdictDeps, most: 100, batch: 0 })),
  lookOf(endpointSliceMirroring({ most: 1000 })),
];

/** What all workload controllers read when one pod is not ready any more. */
async function readFor(size: Size, changed: string): Promise<Readonly<Record<string, number>>> {
  const site = new CountedSite(size);
  const before = site.lister(pods).get(`default/${changed}`);
  if (before === undefined) throw new Error(`no pod ${changed}`);
  const conditions = [{ type: "Ready", status: "False" }];
  const after = { ...before, status: { ...before.status, conditions } };
  site.read.clear();
  const change: ObjectChange<KubeObject> = { key: keyOf(after), before, after };
  for (const look of looks) await look(change, site);
  return Object.fromEntries(site.read);
}

describe("the reads of the controllers when one pod becomes unready", () => {
  const small: Size = { boards: 20, services: 10, pods: 5 };
  const onMoreBoards = { ...small, boards: 200 };

  test.each(["shop-3-1", "batch-3-1", "agent-pi-3"])(
    "%s are the same on a site with ten times as many pods",
    async (changed) => {
      const large = { ...small, services: 100 };
      expect(await readFor(large, changed)).toEqual(await readFor(small, changed));
    },
  );

  test.each(["shop-3-1", "batch-3-1"])("%s are the same on a site with ten times as many boards", async (changed) => {
    expect(await readFor(onMoreBoards, changed)).toEqual(await readFor(small, changed));
  });

  test("cover only the pods of its service, twice: for Endpoints and for EndpointSlices", async () => {
    expect(await readFor(onMoreBoards, "shop-3-1")).toMatchObject({ pods: 2 * small.pods });
  });

  test("cover only its DaemonSet, that set's pods and their boards", async () => {
    const { nodes, pods } = await readFor(onMoreBoards, "agent-pi-3");
    expect({ nodes, pods }).toEqual({ nodes: onMoreBoards.boards, pods: 2 * onMoreBoards.boards });
  });
});
