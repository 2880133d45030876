import type { Pod, Service } from "../../api/core.ts";

/**
 * Limits for the port lists kept for one service: the service's ports times the number of distinct lists among its
 * pods, and the length of their JSON in characters. A tenant may give each of hundreds of pods different numbers for a
 * service's thousands of ports, and each port may take 300 characters. A pass holds the text several times.
 */
const maxPorts = 20_000;
const maxText = 2_000_000;

/**
 * Keeps one copy of each list of ports for all pods of a service that share it, as pods of the same template do. A pod
 * whose list would exceed the limits counts as a pod without named ports.
 */
export class SharedPorts {
  /** Maximum number of distinct lists of ports that are kept. */
  readonly #mostLists: number;
  readonly #lists = new Map<string, Pick<NonNullable<Pod["spec"]>, "containers" | "initContainers">>();

  constructor({ spec }: Service) {
    const ports = spec?.ports ?? [];
    this.#mostLists = Math.min(maxPorts / (ports.length || 1), maxText / JSON.stringify(ports).length);
  }

  of({ spec, ...rest }: Pod): Pod {
    const { containers = [], initContainers, ...place } = spec ?? {};
    const text = JSON.stringify([containers, initContainers]);
    let ports = this.#lists.get(text);
    if (ports === undefined && this.#lists.size > 0 && this.#lists.size + 1 > this.#mostLists) {
      return { ...rest, spec: { ...place, containers: [] } };
    }
    ports ??= { containers, ...(initContainers && { initContainers }) };
    this.#lists.set(text, ports);
    return { ...rest, spec: { ...place, ...ports } };
  }
}
