import type { KubeObject } from "../api/meta.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import { type Action, isRemoval } from "./actions.ts";

export interface QueuedAction {
  readonly action: Action;
  /** The action's place in the decision. */
  readonly index: number;
}

/** Actions on one object, in the order in which they were decided. */
export type Chain = readonly QueuedAction[];

/** Groups the actions of a decision by object. A creation without a name forms a separate chain. */
export function chainsOf(actions: readonly Action[]): readonly Chain[] {
  const chains = new Map<string, QueuedAction[]>();
  for (const [index, action] of actions.entries()) {
    const object = objectOf(action) ?? `#${index}`;
    const chain = chains.get(object);
    if (chain) chain.push({ action, index });
    else chains.set(object, [{ action, index }]);
  }
  return [...chains.values()];
}

export const creates = (chain: Chain): boolean => chain.some(({ action }) => action.do === "create");

/**
 * The purpose of an action in a chain: the removal that it prepares or announces, or else the action itself. A mark on
 * a pod is not sent if the deletion that follows it may not be sent.
 */
export const purposeOf = (chain: Chain, { action, index }: QueuedAction): Action =>
  chain.find((later) => later.index >= index && isRemoval(later.action))?.action ?? action;

function objectOf(action: Action): string | undefined {
  switch (action.do) {
    case "create": {
      const { name, namespace } = action.object.metadata;
      return name === undefined ? undefined : identify(action.resource, namespace, name);
    }
    case "event":
      return identify(action.about.resource, action.about.namespace, action.about.name);
    default:
      return identify(action.target.resource, action.target.namespace, action.target.name);
  }
}

const identify = (resource: Resource<KubeObject>, namespace: string | undefined, name: string): string =>
  `${resourceName(resource)}/${namespace ?? ""}/${name}`;

/**
 * Updates the preconditions of later writes in a chain. Each of our writes changes the object's resourceVersion, while
 * later writes still require the version that was read; this makes them require the version that our last write
 * produced. A write by another client in between still causes a conflict.
 */
export class OwnVersions {
  readonly #replaced = new Set<string>();
  #newest: KubeObject | undefined;

  wrote(action: Action, answer: KubeObject | undefined): void {
    if (answer === undefined || action.do !== "patch") return;
    const { uid, resourceVersion } = action.target;
    if (resourceVersion !== undefined) this.#replaced.add(`${uid}@${resourceVersion}`);
    this.#newest = answer;
  }

  updated(action: Action): Action {
    if (action.do !== "patch" && action.do !== "delete") return action;
    const { target } = action;
    const newest = this.#newest?.metadata;
    if (newest?.uid !== target.uid || !this.#replaced.has(`${target.uid}@${target.resourceVersion}`)) return action;
    return { ...action, target: { ...target, resourceVersion: newest.resourceVersion } };
  }
}
