import type { Pod } from "../../api/core.ts";
import { keyOf, type OwnerReference } from "../../api/meta.ts";
import { controllerOf } from "../../api/owners.ts";
import { isFinished, isMirror, isTerminating } from "../../api/pods.ts";
import { daemonSets, pods } from "../../api/resources.ts";
import { isObjectName } from "../../api/shape-rules.ts";
import { isNotFound } from "../../client/api-error.ts";
import type { ListResult } from "../../client/kube-client.ts";
import type { OperationsDeps } from "./deps.ts";

const pageSize = 100;
const maxReasons = 3;

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

/** The pods of a board at one moment. */
export interface FoundPods {
  readonly leaving: readonly DrainablePod[];
  /** Number of pods that stay. */
  readonly skipped: number;
  /** Number of pods that this agent cannot read, and so does not move. */
  readonly unreadable: number;
  /** What is wrong with the first of them. */
  readonly whyUnreadable: readonly string[];
}

/** Lists the pods that a drain moves off a board, as `kubectl drain` selects them. */
export class DrainablePods {
  readonly #board: string;
  readonly #client: OperationsDeps["client"];
  /** Whether a DaemonSet exists, by namespace, name and uid: read once in a drain. */
  readonly #daemonSets = new Map<string, boolean>();

  constructor(board: string, { client }: Pick<OperationsDeps, "client">) {
    this.#board = board;
    this.#client = client;
  }

  /** Reads the pods from the API: a board that does not lead has no cache of them. */
  async look(signal: AbortSignal): Promise<FoundPods> {
    const leaving: DrainablePod[] = [];
    const claimed: { readonly pod: DrainablePod; readonly owner: OwnerReference }[] = [];
    const whyUnreadable: string[] = [];
    let [skipped, unreadable] = [0, 0];
    const each = (pod: Pod): void => {
      const owner = controllerOf(pod);
      if (isMirror(pod)) skipped++;
      else if (owner?.kind === "DaemonSet") claimed.push({ pod: leavingOf(pod, undefined), owner });
      else leaving.push(leavingOf(pod, owner));
    };
    for (let page: string | undefined = ""; page !== undefined; ) {
      const options = { fieldSelector: `spec.nodeName=${this.#board}`, limit: pageSize, continue: page };
      const answer: ListResult = await this.#client.list(pods, options, each, signal);
      unreadable += answer.rejectedItems;
      whyUnreadable.push(...answer.rejected.slice(0, maxReasons - whyUnreadable.length));
      page = answer.continue;
    }
    for (const { pod, owner } of claimed) {
      if (await this.#exists(pod.namespace, owner, signal)) skipped++;
      else leaving.push(pod);
    }
    return { leaving, skipped, unreadable, whyUnreadable };
  }

  /** Whether the DaemonSet that a pod names exists. A tenant can name any; only an existing one recreates the pod here. */
  async #exists(namespace: string, { apiVersion, name, uid }: OwnerReference, signal: AbortSignal): Promise<boolean> {
    if (!apiVersion.startsWith("apps/") || !isObjectName(name)) return false;
    const id = `${namespace}/${name}/${uid}`;
    const known = this.#daemonSets.get(id);
    if (known !== undefined) return known;
    const exists = await this.#client.get(daemonSets, { namespace, name, metadataOnly: true }, signal).then(
      ({ metadata }) => metadata.uid === uid,
      (error: unknown) => {
        if (isNotFound(error)) return false;
        throw error;
      },
    );
    this.#daemonSets.set(id, exists);
    return exists;
  }
}

const leavingOf = (pod: Pod, owner: OwnerReference | undefined): DrainablePod => {
  const { name, uid, namespace = "default" } = pod.metadata;
  const isAlone = owner === undefined && !isFinished(pod);
  return { key: keyOf(pod), namespace, name, uid, isTerminating: isTerminating(pod), isAlone };
};
