import type { Pod, ReplicaSet } from "../agent/api/core.ts";
import { keyOf, type NewObject } from "../agent/api/meta.ts";
import { apiVersionOf, pods, replicaSets } from "../agent/api/resources.ts";
import type { Ambient } from "../agent/base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../agent/base/clock.ts";
import { sentenceOf } from "../agent/base/errors.ts";
import { WakeSignal } from "../agent/base/wake-signal.ts";
import { zoneLabel } from "./board-node.ts";
import type { Mirror } from "./mirror.ts";
import { activePodsOf, podOf, statusPatch, surplusOf } from "./replica-set.ts";
import { isNotFound, isTaken, type SiteClient } from "./site-client.ts";

/** So many alike pods, as a scenario asks for them. */
export interface Workload {
  readonly name: string;
  readonly replicas: number;
  /** How long its pods stay on a board that is not ready or unreachable; Kubernetes' own default is 300 s. */
  readonly toleration: Millis;
  /** The only zone in which they may run. */
  readonly zone: string | undefined;
  /** By which a Service of its name leads to it; without one it has no Service. */
  readonly port?: number | undefined;
}

export interface WorkloadKeeperParts {
  readonly client: SiteClient;
  readonly pods: Mirror<Pod>;
  readonly replicaSets: Mirror<ReplicaSet>;
  readonly workloads: readonly Workload[];
}

export const workloadNamespace = "default";
const label = "siteward.dev/workload";
const again: Millis = 5000;
/** A pod that was created and is not seen for so long was deleted before it was seen. */
const unseen: Millis = 10_000;

export const workloadOf = ({ metadata }: Pod): string | undefined => metadata.labels?.[label];

/**
 * Makes a ReplicaSet of each workload, and is the controller of all ReplicaSets of the site, so that pods that were evicted
 * are seen to come back elsewhere. Nobody adopts pods that have no owner.
 */
export class WorkloadKeeper {
  readonly #ambient: Ambient;
  readonly #parts: WorkloadKeeperParts;
  /** Created, and not yet seen in the mirror, by key. */
  readonly #awaited = new Map<string, { readonly set: string; readonly since: Instant }>();
  /** Those whose ReplicaSet was not made yet. */
  #wished: readonly Workload[];

  constructor(ambient: Ambient, parts: WorkloadKeeperParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#wished = parts.workloads;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods, replicaSets } = this.#parts;
    const bell = new WakeSignal(this.#ambient.clock);
    const detach = [pods.onChange(() => bell.ring()), replicaSets.onChange(() => bell.ring())];
    while (!signal.aborted) {
      if (pods.hasSynced && replicaSets.hasSynced) await this.#pass(signal);
      await bell.wait(signal, again);
    }
    for (const end of detach) end();
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const sets = [...this.#parts.replicaSets.values()];
    for (const pod of this.#parts.pods.values()) this.#awaited.delete(keyOf(pod));
    for (const workload of this.#wished) await this.#tried(workload.name, () => this.#make(workload, signal));
    for (const set of sets) await this.#tried(set.metadata.name, () => this.#keep(set, signal));
  }

  /** What fails is tried again by the next pass. */
  async #tried(what: string, attempt: () => Promise<void>): Promise<void> {
    try {
      await attempt();
    } catch (error) {
      this.#ambient.log.debug("workload not kept", { what, error: sentenceOf(error) });
    }
  }

  /** One that an earlier run left behind is made what is asked for now. */
  async #make(workload: Workload, signal: AbortSignal): Promise<void> {
    const { client } = this.#parts;
    const at = { namespace: workloadNamespace, name: workload.name };
    try {
      await client.create(replicaSets, workloadNamespace, newReplicaSet(workload), signal);
    } catch (error) {
      if (!isTaken(error)) throw error;
      await client.patch(replicaSets, at, "merge", { spec: specOf(workload) }, signal);
    }
    this.#wished = this.#wished.filter((wished) => wished !== workload);
  }

  async #keep(set: ReplicaSet, signal: AbortSignal): Promise<void> {
    const { uid, namespace, name, deletionTimestamp } = set.metadata;
    const active = activePodsOf(set, this.#parts.pods.values());
    const status = statusPatch(set, active);
    if (status) {
      const at = { namespace, name, subresource: "status" } as const;
      await this.#unlessGone(() => this.#parts.client.patch(replicaSets, at, "merge", status, signal));
    }
    if (deletionTimestamp !== undefined) return;
    for (let missing = (set.spec?.replicas ?? 1) - active.length - this.#awaitedOf(uid); missing > 0; missing--) {
      if (signal.aborted) return;
      await this.#create(set, signal);
    }
    for (const pod of surplusOf(set, active)) await this.#remove(pod, signal);
  }

  #awaitedOf(uid: string): number {
    const now = this.#ambient.clock.now();
    let count = 0;
    for (const [key, { set, since }] of this.#awaited) {
      if (elapsed(since, now) > unseen) this.#awaited.delete(key);
      else if (set === uid) count++;
    }
    return count;
  }

  async #create(set: ReplicaSet, signal: AbortSignal): Promise<void> {
    const { namespace, uid } = set.metadata;
    try {
      const created = await this.#parts.client.create(pods, namespace, podOf(set, this.#ambient.random), signal);
      this.#awaited.set(keyOf(created), { set: uid, since: this.#ambient.clock.now() });
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }

  #remove({ metadata: { namespace, name, uid } }: Pod, signal: AbortSignal): Promise<void> {
    return this.#unlessGone(() => this.#parts.client.delete(pods, { namespace, name }, { uid }, signal));
  }

  async #unlessGone(attempt: () => Promise<unknown>): Promise<void> {
    try {
      await attempt();
    } catch (error) {
      if (!isNotFound(error) && !isTaken(error)) throw error;
    }
  }
}

const labelsOf = ({ name }: Workload): Readonly<Record<string, string>> => ({ app: name, [label]: name });

function newReplicaSet(workload: Workload): NewObject {
  const { kind } = replicaSets;
  const metadata = { name: workload.name, namespace: workloadNamespace, labels: labelsOf(workload) };
  const object = { apiVersion: apiVersionOf(replicaSets), kind, metadata, spec: specOf(workload) };
  return object;
}

function specOf(workload: Workload): object {
  const { replicas, toleration, zone } = workload;
  const labels = labelsOf(workload);
  const tolerationSeconds = Math.round(toleration / 1000);
  return {
    replicas,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        containers: [{ name: "main", image: "simulated" }],
        ...(zone !== undefined && { nodeSelector: { [zoneLabel]: zone } }),
        terminationGracePeriodSeconds: 30,
        tolerations: ["not-ready", "unreachable"].map((state) => ({
          key: `node.kubernetes.io/${state}`,
          operator: "Exists",
          effect: "NoExecute",
          tolerationSeconds,
        })),
      },
    },
  };
}
