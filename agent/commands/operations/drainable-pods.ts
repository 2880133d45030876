import type { Pod } from "../../api/core.ts";
import { keyOf, type OwnerReference } from "../../api/meta.ts";
import { controllerOf } from "../../api/owners.ts";
import { isFinished, isMirror, isTerminating } from "../../api/pods.ts";
import { pods } from "../../api/resources.ts";
import type { OperationsDeps } from "./deps.ts";

const pageSize = 100;

/**
 * The parts of a pod that a drain remembers. Whole pods, which may be of any size, are never held in memory together.
 */
export interface DrainablePod {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly isTerminating: boolean;
  /** No controller recreates the pod elsewhere, and it has not finished: it is evicted by force only. */
  readonly isAlone: boolean;
}

/** The pods of a board at one moment. `skipped`: those that stay. */
export interface FoundPods {
  readonly leaving: readonly DrainablePod[];
  readonly skipped: number;
}

/** Lists the pods that a drain moves off a board, as `kubectl drain` selects them. */
export class DrainablePods {
  readonly #board: string;
  readonly #client: OperationsDeps["client"];

  constructor(board: string, { client }: Pick<OperationsDeps, "client">) {
    this.#board = board;
    this.#client = client;
  }

  /** Reads the pods from the API: a board that does not lead has no cache of them. */
  async look(signal: AbortSignal): Promise<FoundPods> {
    const leaving: DrainablePod[] = [];
    let skipped = 0;
    const each = (pod: Pod): void => {
      const owner = controllerOf(pod);
      if (isMirror(pod) || owner?.kind === "DaemonSet") skipped++;
      else leaving.push(leavingOf(pod, owner));
    };
    for (let page: string | undefined = ""; page !== undefined; ) {
      const options = { fieldSelector: `spec.nodeName=${this.#board}`, limit: pageSize, continue: page };
      const answer: { readonly continue: string | undefined } = await this.#client.list(pods, options, each, signal);
      page = answer.continue;
    }
    return { leaving, skipped };
  }
}

const leavingOf = (pod: Pod, owner: OwnerReference | undefined): DrainablePod => {
  const { name, uid, namespace = "default" } = pod.metadata;
  const isAlone = owner === undefined && !isFinished(pod);
  return { key: keyOf(pod), namespace, name, uid, isTerminating: isTerminating(pod), isAlone };
};
