import type { KubeObject, NewObject } from "../../agent/api/meta.ts";
import { daemonSets, type Resource, services } from "../../agent/api/resources.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import { type Millis, sleep } from "../../agent/base/clock.ts";
import { sentenceOf } from "../../agent/base/errors.ts";
import { isTaken, type SiteClient } from "../client/site-client.ts";
import { type Daemon, newDaemonSet, newService } from "../cluster/daemons.ts";
import { type Workload, workloadNamespace } from "../cluster/workloads.ts";

const again: Millis = 1000;

/** Creates the DaemonSets and Services that a scenario requests. The agents do the rest. */
export class ScenarioSeeder {
  readonly #ambient: Ambient;
  readonly #client: SiteClient;
  readonly #daemons: readonly Daemon[];
  readonly #workloads: readonly Workload[];

  constructor(
    ambient: Ambient,
    deps: {
      readonly client: SiteClient;
      readonly daemons: readonly Daemon[];
      readonly workloads: readonly Workload[];
    },
  ) {
    this.#ambient = ambient;
    this.#client = deps.client;
    this.#daemons = deps.daemons;
    this.#workloads = deps.workloads;
  }

  /** Creates all objects. Ends when all of them exist, or when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for (const daemon of this.#daemons) await this.#make(daemonSets, newDaemonSet(daemon), signal);
    for (const workload of this.#workloads) {
      const { port } = workload;
      if (port !== undefined) await this.#make(services, newService({ ...workload, port }), signal);
    }
  }

  /** Creates an object. If an earlier run left one behind, it remains unchanged. */
  async #make(resource: Resource<KubeObject>, object: NewObject, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#client.create(resource, workloadNamespace, object, signal);
        return;
      } catch (error) {
        if (isTaken(error)) return;
        this.#ambient.log.debug("not created yet", { object: object.metadata.name, error: sentenceOf(error) });
        await sleep(this.#ambient.clock, again, signal);
      }
    }
  }
}
