import type { Lease, Node } from "../../api/core.ts";
import { leases, nodes } from "../../api/resources.ts";
import { taintOf } from "../../api/taints.ts";
import { dispositionOf } from "../../base/errors.ts";
import { isNotFound } from "../../client/api-error.ts";
import { outOfService, takeOutOfService } from "../../controllers/node-lifecycle/out-of-service.ts";
import { type Action, refTo } from "../../execution/actions.ts";
import { type Author, done, type Effect, refused } from "../desk/controls.ts";
import { failed } from "./effects.ts";
import { notSilent } from "./hold-controls.ts";
import { always, type ControlParts, tellOf } from "./parts.ts";
import { boardNamed, isEffect } from "./places.ts";

/** Kubelets and our own controllers change Nodes all the time, so conflicts are normal. */
const mostTries = 5;

/**
 * Taints the Node so that its pods are force-deleted; the node lifecycle controller removes the taint once the board is
 * heard from again.
 */
export async function confirmBoardDead(
  name: string,
  author: Author,
  dryRun: boolean,
  parts: ControlParts,
): Promise<Effect> {
  const known = boardNamed(name, parts.caches);
  if (isEffect(known)) return known;
  const wrong = notSilent([known], parts);
  if (wrong) return wrong;
  const { clock } = parts.ambient;
  return changeNode(name, { dryRun, parts, byLeader: true }, async (node) => {
    if (taintOf(node, outOfService)) return { result: { board: name, changed: false } };
    const lease = await leaseOf(name, parts);
    return {
      act: takeOutOfService(node, lease, author.by, clock.now()),
      result: { board: name, changed: true },
      tell: () => tell(parts, node, "BoardConfirmedDead", `Node ${name} confirmed to be dead`, author),
    };
  });
}

/** `undefined`: this board's own Node, which it may write without leading. */
export async function cordon(
  board: string | undefined,
  cordoned: boolean,
  author: Author,
  dryRun: boolean,
  parts: ControlParts,
): Promise<Effect> {
  const own = parts.config.board.node;
  const name = board ?? own;
  const known = board === undefined ? undefined : boardNamed(board, parts.caches);
  if (known && isEffect(known)) return known;
  const byLeader = board !== undefined && board !== own;
  return changeNode(name, { dryRun, parts, byLeader }, async (node) => {
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
      tell: () => tell(parts, node, cordoned ? "BoardCordoned" : "BoardUncordoned", `Node ${name} ${what}`, author),
    };
  });
}

interface Plan {
  /** undefined: nothing to do. */
  readonly act?: Action;
  readonly result: Readonly<Record<string, unknown>>;
  readonly tell?: () => void;
}

/** Plans from the Node as read from the API, and again after each conflict. */
async function changeNode(
  name: string,
  { dryRun, parts, byLeader }: { readonly dryRun: boolean; readonly parts: ControlParts; readonly byLeader: boolean },
  planFor: (node: Node) => Promise<Plan>,
): Promise<Effect> {
  const { client, executor, work } = parts;
  const { signal } = new AbortController();
  const term = byLeader ? work.term : always;
  if (term === undefined) return refused(421, "not-leader", "another board leads", {});
  for (let tries = 1; ; tries++) {
    try {
      const plan = await planFor(await client.get(nodes, { name }, signal));
      if (dryRun || plan.act === undefined) return done(plan.result);
      const [outcome] = await executor.execute([plan.act], term);
      if (outcome?.ok === false) throw outcome.error;
      plan.tell?.();
      return done(plan.result);
    } catch (error) {
      if (isNotFound(error)) return refused(404, "unknown-board", `there is no Node ${name}`, { board: name });
      if (dispositionOf(error) === "refresh" && tries < mostTries) continue;
      return failed(error, { board: name });
    }
  }
}

async function leaseOf(name: string, { client }: ControlParts): Promise<Lease | undefined> {
  try {
    return await client.get(leases, { namespace: "kube-node-lease", name }, new AbortController().signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function tell(parts: ControlParts, node: Node, reason: string, message: string, author: Author): void {
  tellOf(parts, { ...refTo(nodes, node) }, { reason, message }, author);
}
