import type { Lease, Node } from "../../api/core.ts";
import { boardLeaseNamespace, leases, nodes } from "../../api/resources.ts";
import { dispositionOf } from "../../base/errors.ts";
import { isNotFound } from "../../client/api-error.ts";
import { lastSignOf } from "../../controllers/node-lifecycle/health.ts";
import {
  confirmedDeadBy,
  hasForeignTaint,
  outOfService,
  takeOutOfService,
} from "../../controllers/node-lifecycle/out-of-service/mark.ts";
import { type Action, refTo } from "../../execution/actions.ts";
import { effectOf } from "../../execution/executor.ts";
import type { Term } from "../../execution/fence.ts";
import { type Author, done, type Effect, refused } from "../desk/controls.ts";
import { emitCommandEvent, type OperationsDeps, type OrderBounds } from "./deps.ts";
import { failedEffect, notLeading } from "./effects.ts";
import { lastSignInCache, notSilent } from "./hold-controls.ts";
import { boardNamed, isEffect } from "./places.ts";

/** Maximum number of tries. Kubelets and our own controllers change Nodes all the time, so conflicts are normal. */
const maxTries = 5;

/**
 * Adds the out-of-service taint to the Node, so that its pods are force-deleted. The node lifecycle controller removes
 * it once the board reports again.
 */
export async function confirmBoardDead(
  name: string,
  author: Author,
  { dryRun, signal }: OrderBounds,
  deps: OperationsDeps,
): Promise<Effect> {
  const cached = boardNamed(name, deps.caches);
  if (isEffect(cached)) return cached;
  const refusal = notSilent([cached], deps);
  if (refusal) return refusal;
  const { clock } = deps.ambient;
  // The sign of life on which this judgement rests. If the Node as read from the API shows a later one, the board is
  // alive.
  const judged = lastSignInCache(cached, deps.caches);
  const { term } = deps.current;
  if (term === undefined) return notLeading;
  return changeNode(name, { dryRun, deps, term, signal }, async (node) => {
    const lease = await leaseOf(name, deps, signal);
    // One that was set by hand already deletes the board's pods, and stays when the board returns. Ours cannot be added.
    if (hasForeignTaint(node)) {
      const message = `${name} has the taint ${outOfService.key}, which was set by hand: remove it first`;
      return refused(409, "tainted-by-hand", message, { board: name });
    }
    if (confirmedDeadBy(node, lease?.metadata.resourceVersion) !== undefined)
      return { result: { board: name, changed: false } };
    if (lastSignOf(node, lease?.metadata.resourceVersion) !== judged) {
      return refused(409, "board-alive", `not dead: ${name} has given a sign of life`, { boards: [name] });
    }
    return {
      act: takeOutOfService(node, lease, { ...author, term: term.number }, clock.now()),
      result: { board: name, changed: true },
      emitEvent: () => nodeEvent(deps, node, "BoardConfirmedDead", `Node ${name} confirmed to be dead`, author),
    };
  });
}

/** The change of a Node that an order asks for. */
export interface NodePlan {
  /** The write to perform; undefined if there is nothing to do. */
  readonly act?: Action;
  readonly result: Readonly<Record<string, unknown>>;
  readonly emitEvent?: () => void;
  /** Called if the write failed and may take effect all the same. */
  readonly mayFollow?: () => void;
}

export interface NodeOrder extends OrderBounds {
  readonly deps: OperationsDeps;
  readonly term: Term;
}

/**
 * Reads the Node from the API and performs the write that `planFor` plans; after a conflict, reads and plans again. If
 * `planFor` returns an effect instead, that is the outcome, and nothing is written. Once the signal has aborted, no
 * further request is sent, but the response to one in flight is awaited.
 */
export async function changeNode(
  name: string,
  { dryRun, deps, term, signal }: NodeOrder,
  planFor: (node: Node) => Promise<NodePlan | Effect>,
): Promise<Effect> {
  const { client, executor } = deps;
  for (let tries = 1; ; tries++) {
    try {
      const plan = await planFor(await client.get(nodes, { name }, signal));
      if (isEffect(plan)) return plan;
      if (dryRun || plan.act === undefined) return done(plan.result);
      const [outcome] = await executor.execute([plan.act], term, { isOver: signal });
      if (effectOf(outcome) === "uncertain") plan.mayFollow?.();
      if (outcome?.ok === false) throw outcome.error;
      plan.emitEvent?.();
      return done(plan.result);
    } catch (error) {
      if (isNotFound(error)) return refused(404, "unknown-board", `there is no Node ${name}`, { board: name });
      if (dispositionOf(error) === "refresh" && tries < maxTries) continue;
      return failedEffect(error, { board: name });
    }
  }
}

async function leaseOf(name: string, { client }: OperationsDeps, signal: AbortSignal): Promise<Lease | undefined> {
  try {
    return await client.get(leases, { namespace: boardLeaseNamespace, name }, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export function nodeEvent(deps: OperationsDeps, node: Node, reason: string, message: string, author: Author): void {
  emitCommandEvent(deps, { ...refTo(nodes, node) }, { reason, message }, author);
}
