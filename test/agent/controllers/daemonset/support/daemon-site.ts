import type { ControllerRevision, DaemonSet, Pod } from "../../../../../agent/api/core.ts";
import { pinTo } from "../../../../../agent/api/node-affinity.ts";
import { controlledBy } from "../../../../../agent/api/owners.ts";
import { controllerRevisions, daemonSets, nodes, pods } from "../../../../../agent/api/resources.ts";
import { atOnce } from "../../../../../agent/base/steps.ts";
import { daemonSet } from "../../../../../agent/controllers/daemonset/controller.ts";
import { hashLabel } from "../../../../../agent/controllers/daemonset/daemon-pod.ts";
import {
  type KnownRevision,
  knownRevision,
  presentHash,
  revisionData,
} from "../../../../../agent/controllers/daemonset/history.ts";
import type { SiteMemory } from "../../../../../agent/controllers/node-lifecycle/memory.ts";
import { lifecycleSettings } from "../../../../replay/settings.ts";
import { CaseTime } from "../../../../replay/site/case-time.ts";
import { Site } from "../../../../replay/site/site.ts";
import { node } from "../../../../support/builders.ts";

type Spec = NonNullable<DaemonSet["spec"]>;
type TemplateSpec = NonNullable<Spec["template"]["spec"]>;

export interface SetOptions extends Partial<Omit<Spec, "template">> {
  readonly template?: Partial<TemplateSpec>;
  readonly image?: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly status?: Partial<NonNullable<DaemonSet["status"]>>;
}

/** A set called agent that has been looked at before. */
export function set(options: SetOptions = {}): DaemonSet {
  const { template, image = "agent:1", uid = "uid-agent", generation = 1, annotations, status, ...spec } = options;
  return {
    metadata: {
      name: "agent",
      namespace: "default",
      uid,
      resourceVersion: "1",
      generation,
      ...(annotations && { annotations }),
    },
    spec: {
      selector: { matchLabels: { app: "agent" } },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      ...spec,
      template: {
        metadata: { labels: { app: "agent" } },
        spec: { containers: [{ name: "main", image }], ...template },
      },
    },
    status: {
      currentNumberScheduled: 0,
      desiredNumberScheduled: 0,
      numberMisscheduled: 0,
      numberReady: 0,
      observedGeneration: 1,
      ...status,
    },
  };
}

/** A pod of the set that runs on a board and is ready. */
export function podOf(
  owner: DaemonSet,
  board: string,
  more: Partial<Pod["metadata"]> & { hash?: string; ready?: string } = {},
): Pod {
  const { hash = atOnce(presentHash(owner)), ready = "True", ...metadata } = more;
  return {
    metadata: {
      name: `on-${board}`,
      namespace: "default",
      uid: `uid-on-${board}`,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { app: "agent", [hashLabel]: hash },
      ownerReferences: [controlledBy(daemonSets, owner)],
      ...metadata,
    },
    spec: { containers: [], nodeName: board, affinity: pinTo(undefined, board) },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: ready, lastTransitionTime: "2025-12-31T00:00:00Z" }],
    },
  };
}

export function revisionOf(
  owner: DaemonSet,
  revision = 1,
  name = `agent-${atOnce(presentHash(owner))}`,
): ControllerRevision {
  return {
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      resourceVersion: "1",
      labels: { app: "agent", [hashLabel]: name.replace(/^agent-/, "") },
      ownerReferences: [controlledBy(daemonSets, owner)],
    },
    data: atOnce(revisionData(owner)),
    revision,
  };
}

/** A revision as a pass of the set knows it. */
export const knownOf = (owner: DaemonSet, revision = revisionOf(owner)): KnownRevision =>
  atOnce(knownRevision(owner, revision));

/** A site in memory with the DaemonSet controller on it. */
export class DaemonSite {
  readonly site = new Site(new CaseTime());
  judge: SiteMemory | "no judge" | undefined = "no judge";

  async begin(): Promise<void> {
    const verdictDeps = { settings: lifecycleSettings({}), judge: () => this.judge };
    this.site.start(this.site.loopOf(daemonSet({ verdictDeps })));
    await this.site.settle();
  }

  async run(untilMs: number): Promise<void> {
    await this.site.approach(untilMs);
    await this.site.settle();
  }

  put(...objects: readonly (DaemonSet | Pod | ControllerRevision)[]): void {
    for (const object of objects) {
      const isPod = "spec" in object && object.spec !== undefined && "containers" in object.spec;
      const resource = "data" in object ? controllerRevisions : isPod ? pods : daemonSets;
      this.site.api.put(resource, object);
    }
  }

  boards(...names: readonly string[]): void {
    for (const name of names) this.site.api.put(nodes, node(name));
  }

  get pods(): readonly string[] {
    return this.site.api.all(pods).map(({ metadata }) => metadata.name);
  }

  get set(): DaemonSet {
    const found = this.site.api.find(daemonSets, "default/agent");
    if (found === undefined) throw new Error("the set is gone");
    return found;
  }

  writes(verb: string): readonly string[] {
    return this.site.journal.writes.filter((write) => write.verb === verb).map(({ object }) => object);
  }
}
