import type { Node } from "../../agent/api/core.ts";
import type { KubeObject } from "../../agent/api/meta.ts";
import { leases, nodes, pods, type Resource, resourceName } from "../../agent/api/resources.ts";
import { type Instant, type Millis, shifted } from "../../agent/base/clock.ts";
import { atOnce } from "../../agent/base/steps.ts";
import { nodeLifecycle, siteKey } from "../../agent/controllers/node-lifecycle/controller.ts";
import type { SiteMemory } from "../../agent/controllers/node-lifecycle/memory.ts";
import type { NodeLifecycleSettings } from "../../agent/controllers/node-lifecycle/settings.ts";
import { kindOf } from "../../agent/informer/kinds/kinds.ts";
import type { Lister } from "../../agent/informer/lister.ts";
import type { WatchHealth } from "../../agent/informer/watch-health.ts";
import type { Controller, SiteView } from "../../agent/loop/controller.ts";
import { Database } from "../../storage/database/database.ts";
import { DeltaFIFO } from "../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../storage/indexer/indexer.ts";
import { cacheMigrations } from "../../storage/schema.ts";
import { lease, node } from "../support/builders.ts";
import { boardName } from "../support/load.ts";
import { type Bench, type BenchContext, type Figure, median } from "./figure.ts";
import { decodedOthers, shippedPragmas } from "./shipped-cache.ts";

const sizes = [50, 500, 1000, 5000];
const targets = new Map([
  [1000, 50],
  [5000, 250],
]);

const settings: NodeLifecycleSettings = {
  policy: "evidence",
  ownNode: undefined,
  monitorPeriod: 5000,
  gracePeriod: 50_000,
  startupGracePeriod: 60_000,
  evictionRate: 0.1,
  secondaryRate: 0.01,
  largeZone: 50,
  unhealthyZone: 0.55,
  recovery: 600_000,
  unprovenHold: 900_000,
  zoneHold: 900_000,
  unmanagedHold: 900_000,
  stall: 90_000,
  blip: 10_000,
};

/** One look at every board, as a leader takes it every five seconds: what is cached is read, judged and remembered. */
export const monitorPass: Bench = {
  name: "monitor-pass",
  summary: `a monitor pass over ${sizes.join(", ")} boards that are well`,
  kube: false,
  run: measure,
};

async function* measure({ runs, quick }: BenchContext): AsyncGenerator<Figure> {
  for (const boards of sizes) {
    const durations: Millis[] = [];
    const site = new Site(boards);
    const controller = nodeLifecycle({ settings, inherited: () => undefined });
    const turns = (quick ? 6 : 20) * runs;
    for (let turn = 0; turn < turns; turn++) {
      site.beat();
      const begun = performance.now();
      await site.pass(controller);
      // The first passes meet unknown boards, and code that was never run.
      if (turn >= turns / 3) durations.push(performance.now() - begun);
    }
    site.close();
    const target = targets.get(boards);
    yield {
      what: `monitor pass, ${boards} boards`,
      value: median(durations),
      unit: "ms",
      ...(target !== undefined && { target }),
      note: `longest ${Math.max(...durations).toFixed(1)} ms`,
    };
  }
}

/** Boards in real caches, in memory, whose Leases are renewed before every pass. */
class Site {
  readonly #boards: number;
  readonly #database = Database.open({
    file: ":memory:",
    migrations: cacheMigrations,
    pragmas: shippedPragmas,
  });
  readonly #caches = new Map<string, { readonly indexer: Lister<KubeObject>; readonly fifo: DeltaFIFO<KubeObject> }>();
  #now: Instant = { mono: 1_000_000, wall: 0 };
  #version = 0;
  #memory: SiteMemory | undefined;

  constructor(boards: number) {
    this.#boards = boards;
    this.#open(nodes);
    this.#open(leases);
    this.#open(pods);
    this.#put(nodes, (name, version) => large(node(name, { version, zone: `zone-${Number(version) % 2}` })));
    this.#put(leases, lease);
  }

  beat(): void {
    this.#now = shifted(this.#now, settings.monitorPeriod);
    this.#put(leases, lease);
  }

  /** All rounds of one pass; every act it asks for goes through. */
  async pass<State>(controller: Controller<State, SiteMemory>): Promise<void> {
    const before = this.#memory ?? controller.initialMemory;
    const state = await controller.observe(siteKey, this.#view(), before);
    if (state === undefined || !controller.decideAfterWrites) throw new Error("the monitor saw no site");
    let decision = controller.decide(state, before, this.#now);
    do {
      const outcomes = decision.actions.map((action) => ({ action, ok: true }) as const);
      decision = controller.decideAfterWrites(decision, outcomes, this.#now);
    } while (decision.actions.length > 0);
    this.#memory = decision.memory;
  }

  close(): void {
    this.#database.close();
  }

  #view(): SiteView {
    const health: WatchHealth = {
      connected: true,
      lastReceived: this.#now,
      lastProof: this.#now,
      restoredAt: undefined,
      notLiveSince: undefined,
    };
    return {
      now: this.#now,
      // Under the name of a resource there is only ever a cache of its type.
      lister: <T extends KubeObject>(resource: Resource<T>) => this.#cache(resource).indexer as Lister<T>,
      fetch: () => Promise.reject(new Error("the pass asked the API")),
      inTurns: atOnce,
      watch: () => health,
      position: () => undefined,
    };
  }

  #cache(resource: Resource<KubeObject>) {
    const cache = this.#caches.get(resourceName(resource));
    if (!cache) throw new Error(`no cache of ${resource.plural}`);
    return cache;
  }

  #open<T extends KubeObject>(resource: Resource<T>): void {
    const { indices, isQuiet } = kindOf<KubeObject>(resource);
    const deps = { database: this.#database, resource: resourceName(resource) };
    const indexer = new Indexer<KubeObject>({ ...deps, indices, decodedBytes: decodedOthers });
    const fifo = new DeltaFIFO({ ...deps, indexer, deltasPerObject: 16, ...(isQuiet && { isQuiet }) });
    this.#caches.set(resourceName(resource), { indexer, fifo });
  }

  #put(resource: Resource<KubeObject>, object: (name: string, version: string) => KubeObject): void {
    const { fifo } = this.#cache(resource);
    const deltas = Array.from({ length: this.#boards }, (_, i) => {
      this.#version++;
      return { type: "Updated" as const, object: object(boardName(i), String(this.#version)) };
    });
    fifo.append(deltas, String(this.#version));
    while (fifo.depth > 0) fifo.pop(64);
  }
}

/** What is kept of a board besides its conditions: addresses, and what it has to offer. */
function large(board: Node): Node {
  const addresses = [
    { type: "InternalIP", address: "10.0.0.1" },
    { type: "Hostname", address: board.metadata.name },
  ];
  const allocatable = { cpu: "4", memory: "3884340Ki", pods: "110", "ephemeral-storage": "28013264Ki" };
  return { ...board, status: { ...board.status, addresses, allocatable } };
}
