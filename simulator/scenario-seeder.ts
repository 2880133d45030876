import type { KubeObject, NewObject } from "../agent/api/meta.ts";
import { daemonSets, type Resource, services } from "../agent/api/resources.ts";
import type { Ambient } from "../agent/base/ambient.ts";
import { type Millis, sleep } from "../agent/base/clock.ts";
import { sentenceOf } from "../agent/base/errors.ts";
import { type Daemon, newDaemonSet, newService } from "./daemons.ts";
import { isTaken, type SiteClient } from "./site-client.ts";
import { type Workload, workloadNamespace } from "./workloads.ts";

const again: Millis = 1000;

/** Creates the DaemonSets and Services that a scenario asks for. What becomes of them is the agents' business. */
export class ScenarioSeeder {
  readonly #ambient: Ambient;
  readonly #client: SiteClient;
  readonly #daemons: readonly Daemon[];
  readonly #workloads: readonly Workload[];

  constructor(
    ambient: Ambient,
    parts: {
      readonly client: SiteClient;
      readonly daemons: readonly Daemon[];
      readonly workloads: readonly Workload[];
    },
  ) {
    this.#ambient = ambient;
    this.#client = parts.client;
    this.#daemons = parts.daemons;
    this.#workloads = parts.workloads;
  }

  /** Ends when all is there, or when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for (const daemon of this.#daemons) await this.#make(daemonSets, newDaemonSet(daemon), signal);
    for (const workload of this.#workloads) {
      const { port } = workload;
      if (port !== undefined) await this.#make(services, newService({ ...workload, port }), signal);
    }
  }

  /** What an earlier run left behind stays as it is. */
  async #make(resource: Resource<KubeObject>, object: NewObject, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#client.create(resource, workloadNamespace, object, signal);
        return;
      } catch (error) {
        if (isTaken(error)) return;
        this.#ambient.log.debug("not made yet", { object: object.metadata.name, error: sentenceOf(error) });
        await sleep(this.#ambient.clock, again, signal);
      }
    }
  }
}
