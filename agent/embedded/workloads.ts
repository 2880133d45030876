import type { Pod } from "../api/core.ts";
import { keyOf, type NewObject } from "../api/meta.ts";
import { pods } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { Bell } from "../base/bell.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { sentenceOf } from "../base/errors.ts";
import type { Random } from "../base/random.ts";
import { zoneLabel } from "./board-node.ts";
import type { Mirror } from "./mirror.ts";
import { isOver } from "./pod-run.ts";
import { isNotFound, isTaken, type SiteClient } from "./site-client.ts";

/** So many alike pods, as a scenario asks for them. */
export interface Workload {
  readonly name: string;
  readonly replicas: number;
  /** How long its pods stay on a board that is not ready or unreachable; Kubernetes' own default is 300 s. */
  readonly toleration: Millis;
  /** The only zone in which they may run. */
  readonly zone: string | undefined;
}

export const workloadNamespace = "default";
const label = "siteward.dev/workload";
const again: Millis = 5000;
/** A pod that was created and is not seen for so long was deleted before it was seen. */
const unseen: Millis = 10_000;

export const workloadOf = ({ metadata }: Pod): string | undefined => metadata.labels?.[label];

/**
 * Keeps the pods of the workloads in number: a stand-in for a ReplicaSet and its controller, so that pods that were evicted
 * are seen to come back elsewhere. There is no object for a workload; its pods carry a label with its name.
 */
export class WorkloadKeeper {
  readonly #ambient: Ambient;
  readonly #client: SiteClient;
  readonly #pods: Mirror<Pod>;
  readonly #workloads: readonly Workload[];
  /** Created, and not yet seen in the mirror, by key. */
  readonly #awaited = new Map<string, { readonly workload: string; readonly since: Instant }>();

  constructor(
    ambient: Ambient,
    parts: { readonly client: SiteClient; readonly pods: Mirror<Pod>; readonly workloads: readonly Workload[] },
  ) {
    this.#ambient = ambient;
    this.#client = parts.client;
    this.#pods = parts.pods;
    this.#workloads = parts.workloads;
  }

  async run(signal: AbortSignal): Promise<void> {
    const bell = new Bell(this.#ambient.clock);
    const detach = this.#pods.onChange(() => bell.ring());
    while (!signal.aborted) {
      if (this.#pods.hasSynced) await this.#pass(signal);
      await bell.wait(signal, again);
    }
    detach();
  }

  async #pass(signal: AbortSignal): Promise<void> {
    try {
      for (const workload of this.#workloads) await this.#keep(workload, signal);
    } catch (error) {
      this.#ambient.log.debug("workload not kept", { error: sentenceOf(error) });
    }
  }

  async #keep(workload: Workload, signal: AbortSignal): Promise<void> {
    const active: Pod[] = [];
    for (const pod of this.#pods.values()) {
      this.#awaited.delete(keyOf(pod));
      // As for a ReplicaSet, a pod that is asked to end no longer counts, though its board may never hear of it.
      const counts = pod.metadata.deletionTimestamp === undefined && !isOver(pod);
      if (workloadOf(pod) === workload.name && counts) active.push(pod);
    }
    const awaited = this.#awaitedOf(workload);
    for (let missing = workload.replicas - active.length - awaited; missing > 0; missing--) {
      if (signal.aborted) return;
      await this.#create(workload, signal);
    }
    for (const pod of active.slice(workload.replicas)) await this.#remove(pod, signal);
  }

  #awaitedOf({ name }: Workload): number {
    const now = this.#ambient.clock.now();
    let count = 0;
    for (const [key, { workload, since }] of this.#awaited) {
      if (elapsed(since, now) > unseen) this.#awaited.delete(key);
      else if (workload === name) count++;
    }
    return count;
  }

  async #create(workload: Workload, signal: AbortSignal): Promise<void> {
    try {
      const pod = newPod(workload, this.#ambient.random);
      const created = await this.#client.create(pods, workloadNamespace, pod, signal);
      this.#awaited.set(keyOf(created), { workload: workload.name, since: this.#ambient.clock.now() });
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }

  async #remove({ metadata: { namespace, name, uid } }: Pod, signal: AbortSignal): Promise<void> {
    try {
      await this.#client.delete(pods, { namespace, name }, { uid }, signal);
    } catch (error) {
      if (!isNotFound(error) && !isTaken(error)) throw error;
    }
  }
}

function newPod(workload: Workload, random: Random): NewObject {
  const tolerationSeconds = Math.round(workload.toleration / 1000);
  const object = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${workload.name}-${suffix(random)}`,
      namespace: workloadNamespace,
      labels: { app: workload.name, [label]: workload.name },
      annotations: { "siteward.dev/kept-by": "siteward up, in place of a ReplicaSet" },
    },
    spec: {
      containers: [{ name: "main", image: "simulated" }],
      ...(workload.zone !== undefined && { nodeSelector: { [zoneLabel]: workload.zone } }),
      terminationGracePeriodSeconds: 30,
      tolerations: ["not-ready", "unreachable"].map((state) => ({
        key: `node.kubernetes.io/${state}`,
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds,
      })),
    },
  };
  return object;
}

/** Letters that make no words, as in generated names. */
function suffix(random: Random): string {
  const letters = "bcdfghjklmnpqrstvwxz2456789";
  return Array.from({ length: 5 }, () => letters[Math.floor(random.next() * letters.length)]).join("");
}
