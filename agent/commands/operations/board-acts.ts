import type { Lease, Node } from "../../api/core.ts";
import { leases, nodes } from "../../api/resources.ts";
import { taintOf } from "../../api/taints.ts";
import { dispositionOf } from "../../base/errors.ts";
import { isNotFound } from "../../client/api-error.ts";
import { lastSignOf } from "../../controllers/node-lifecycle/health.ts";
import { outOfService, takeOutOfService } from "../../controllers/node-lifecycle/out-of-service.ts";
import { type Action, refTo } from "../../execution/actions.ts";
import { type Author, done, type Effect, refused } from "../desk/controls.ts";
import { always, emitCommandEvent, type OperationsDeps } from "./deps.ts";
import { failed } from "./effects.ts";
import { lastSignInCache, notSilent } from "./hold-controls.ts";
import { boardNamed, isEffect } from "./places.ts";

/** Maximum number of tries. Kubelets and our own controllers change Nodes all the time, so conflicts are normal. */
const mostTries = 5;

/**
 * Adds the out-of-service taint to the Node, so that its pods are force-deleted. The node lifecycle controller removes
 * it once the board reports again.
 */
export async function confirmBoardDead(
  name: string,
  author: Author,
  dryRun: boolean,
  deps: OperationsDeps,
): Promise<Effect> {
  const cached = boardNamed(name, deps.caches);
  if (isEffect(cached)) return cached;
  const refusal = notSilent([cached], deps);
  if (refusal) return refusal;
  const { clock } = deps.ambient;
  // The sign of life that the judgement rests on: the read may show a later one, which is not silence.
  const judged = lastSignInCache(cached, deps.caches);
  return changeNode(name, { dryRun, deps, byLeader: true }, async (node) => {
    if (taintOf(node, outOfService)) return { result: { board: name, changed: false } };
    const lease = await leaseOf(name, deps);
    if (lastSignOf(node, lease?.metadata.resourceVersion) !== judged) {
      return refused(409, "board-alive", `not dead: ${name} has given a sign of life`, { alive: [name] });
    }
    return {
      act: takeOutOfService(node, lease, author.by, clock.now()),
      result: { board: name, changed: true },
      emitEvent: () => nodeEvent(deps, node, "BoardConfirmedDead", `Node ${name} confirmed to be dead`, author),
    };
  });
}

/** Cordons or uncordons a Node. If `board` is undefined: this board's own Node, which it may write without leading. */
export async function cordon(
  board: string | undefined,
  cordoned: boolean,
  author: Author,
  dryRun: boolean,
  deps: OperationsDeps,
): Promise<Effect> {
  const own = deps.config.board.node;
  const name = board ?? own;
  const cached = board === undefined ? undefined : boardNamed(board, deps.caches);
  if (cached && isEffect(cached)) return cached;
  const byLeader = board !== undefined && board !== own;
  return changeNode(name, { dryRun, deps, byLeader }, async (node) => {
    const isCordoned = node.spec?.unschedulable === true;
    const result = { board: name, cordoned, changed: isCordoned !== cordoned };
    if (isCordoned === cordoned) return { result };
    const what = cordoned ? "cordoned" : "uncordoned";
    return {
      act: {
        do: "patch",
        target: refTo(nodes, node),
        type: "merge",
        patch: { spec: { unschedulable: cordoned || null } },
      },
      result,
      emitEvent: () =>
        nodeEvent(deps, node, cordoned ? "BoardCordoned" : "BoardUncordoned", `Node ${name} ${what}`, author),
    };
  });
}

interface Plan {
  /** The write to perform; undefined if there is nothing to do. */
  readonly act?: Action;
  readonly result: Readonly<Record<string, unknown>>;
  readonly emitEvent?: () => void;
}

/**
 * Reads the Node from the API and writes what the plan says; after a conflict it reads and plans again. An effect in
 * place of a plan is the outcome, and nothing is written.
 */
async function changeNode(
  name: string,
  { dryRun, deps, byLeader }: { readonly dryRun: boolean; readonly deps: OperationsDeps; readonly byLeader: boolean },
  planFor: (node: Node) => Promise<Plan | Effect>,
): Promise<Effect> {
  const { client, executor, current } = deps;
  const { signal } = new AbortController();
  const term = byLeader ? current.term : always;
  if (term === undefined) return refused(421, "not-leader", "another board leads", {});
  for (let tries = 1; ; tries++) {
    try {
      const plan = await planFor(await client.get(nodes, { name }, signal));
      if (isEffect(plan)) return plan;
      if (dryRun || plan.act === undefined) return done(plan.result);
      const [outcome] = await executor.execute([plan.act], term);
      if (outcome?.ok === false) throw outcome.error;
      plan.emitEvent?.();
      return done(plan.result);
    } catch (error) {
      if (isNotFound(error)) return refused(404, "unknown-board", `there is no Node ${name}`, { board: name });
      if (dispositionOf(error) === "refresh" && tries < mostTries) continue;
      return failed(error, { board: name });
    }
  }
}

async function leaseOf(name: string, { client }: OperationsDeps): Promise<Lease | undefined> {
  try {
    return await client.get(leases, { namespace: "kube-node-lease", name }, new AbortController().signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function nodeEvent(deps: OperationsDeps, node: Node, reason: string, message: string, author: Author): void {
  emitCommandEvent(deps, { ...refTo(nodes, node) }, { reason, message }, author);
}
