import type { Pod, ReplicaSet } from "../../agent/api/core.ts";
import { keyOf, type NewObject } from "../../agent/api/meta.ts";
import { apiVersionOf, pods, replicaSets } from "../../agent/api/resources.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../../agent/base/clock.ts";
import { WakeSignal } from "../../agent/base/concurrency/wake-signal.ts";
import { sentenceOf } from "../../agent/base/errors.ts";
import type { Mirror } from "../client/mirror.ts";
import { isNotFound, isTaken, type SiteClient } from "../client/site-client.ts";
import { zoneLabel } from "./board-node.ts";
import { activePodsOf, podOf, statusPatch, surplusOf } from "./replica-set.ts";

/** A ReplicaSet that a scenario requests. */
export interface Workload {
  readonly name: string;
  readonly replicas: number;
  /** How long its pods stay on a board that is unready or unreachable; Kubernetes' default is 300 s. */
  readonly toleration: Millis;
  /** The only zone in which they may run. */
  readonly zone: string | undefined;
  /** Port of the workload's Service, which has the workload's name; without a port there is no Service. */
  readonly port?: number | undefined;
}

export interface WorkloadKeeperDeps {
  readonly client: SiteClient;
  readonly pods: Mirror<Pod>;
  readonly replicaSets: Mirror<ReplicaSet>;
  readonly workloads: readonly Workload[];
}

export const workloadNamespace = "default";
const label = "siteward.dev/workload";
const again: Millis = 5000;
/**
 * How long a created pod may be missing from the mirror. After that, it is assumed to have been deleted before it was
 * observed.
 */
const unseen: Millis = 10_000;

export const workloadOf = ({ metadata }: Pod): string | undefined => metadata.labels?.[label];

/**
 * Creates a ReplicaSet for each workload, and is the controller of all ReplicaSets of the site, so that evicted pods
 * are recreated elsewhere. It does not adopt pods without an owner.
 */
export class WorkloadKeeper {
  readonly #ambient: Ambient;
  readonly #deps: WorkloadKeeperDeps;
  /** Pods that were created but are not in the mirror yet, by key. */
  readonly #awaited = new Map<string, { readonly set: string; readonly since: Instant }>();
  /** Workloads whose ReplicaSet has not been created yet. */
  #wished: readonly Workload[];

  constructor(ambient: Ambient, deps: WorkloadKeeperDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#wished = deps.workloads;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods, replicaSets } = this.#deps;
    const bell = new WakeSignal(this.#ambient.clock);
    const detach = [pods.onChange(() => bell.ring()), replicaSets.onChange(() => bell.ring())];
    while (!signal.aborted) {
      if (pods.hasSynced && replicaSets.hasSynced) await this.#pass(signal);
      await bell.wait(signal, again);
    }
    for (const end of detach) end();
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const sets = [...this.#deps.replicaSets.values()];
    for (const pod of this.#deps.pods.values()) this.#awaited.delete(keyOf(pod));
    for (const workload of this.#wished) await this.#tried(workload.name, () => this.#make(workload, signal));
    for (const set of sets) await this.#tried(set.metadata.name, () => this.#keep(set, signal));
  }

  /** Runs an attempt and logs its failure; the next pass retries. */
  async #tried(what: string, attempt: () => Promise<void>): Promise<void> {
    try {
      await attempt();
    } catch (error) {
      this.#ambient.log.debug("workload not kept", { what, error: sentenceOf(error) });
    }
  }

  /** Creates the ReplicaSet of a workload. If an earlier run left one behind, it is updated to the current request. */
  async #make(workload: Workload, signal: AbortSignal): Promise<void> {
    const { client } = this.#deps;
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
    const active = activePodsOf(set, this.#deps.pods.values());
    const status = statusPatch(set, active);
    if (status) {
      const at = { namespace, name, subresource: "status" } as const;
      await this.#unlessGone(() => this.#deps.client.patch(replicaSets, at, "merge", status, signal));
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
      const created = await this.#deps.client.create(pods, namespace, podOf(set, this.#ambient.random), signal);
      this.#awaited.set(keyOf(created), { set: uid, since: this.#ambient.clock.now() });
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }

  #remove({ metadata: { namespace, name, uid } }: Pod, signal: AbortSignal): Promise<void> {
    return this.#unlessGone(() => this.#deps.client.delete(pods, { namespace, name }, { uid }, signal));
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
