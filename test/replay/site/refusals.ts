import type { KubeObject } from "../../../agent/api/meta.ts";
import type { Resource } from "../../../agent/api/resources.ts";

/** Writes that the API shall refuse. */
export interface Refusal {
  /** Key of the Node or "namespace/name" of the Pod; every object if absent. */
  readonly object?: string | undefined;
  /** status: the status subresource; spec: everything else, including taints and labels. Both if absent. */
  readonly part?: "status" | "spec" | undefined;
  readonly reason: string;
  /** How often; always if absent. */
  readonly times?: number | undefined;
}

export class Refusals {
  #open: readonly Refusal[] = [];

  add(refusal: Refusal): void {
    this.#open = [...this.#open, refusal];
  }

  /** Every write goes through again. */
  clear(): void {
    this.#open = [];
  }

  /** Returns why the write fails, and counts it; `undefined` if it succeeds. */
  take(write: {
    readonly resource: Resource<KubeObject>;
    readonly key: string;
    readonly subresource?: string;
  }): string | undefined {
    const part = write.subresource === "status" ? "status" : "spec";
    const fits = (one: Refusal): boolean =>
      (one.object ?? write.key) === write.key && (one.part ?? part) === part && one.times !== 0;
    const found = this.#open.find(fits);
    if (found?.times !== undefined) {
      const { times } = found;
      this.#open = this.#open.map((one) => (one === found ? { ...one, times: times - 1 } : one));
    }
    return found?.reason;
  }
}
