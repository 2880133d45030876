import type { Scope } from "./controls.ts";
import { command, type Definition } from "./definition.ts";
import { type Problem, record, text, whole, word, yesNo } from "./shape.ts";

const second = 1000;
/** Duration of a hold in seconds; every hold ends by itself. */
const ttl = whole(60, 86_400);
/** Names of zones, boards and controllers: Kubernetes names and label values, and "/" between region and zone. */
const name = text({ pattern: /^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$/, most: 253 });

const where = { scope: word("site", "zone", "board"), target: name };

interface Where {
  readonly scope?: "site" | "zone" | "board";
  readonly target?: string;
}

function whereProblem({ scope = "site", target }: Where): Problem | undefined {
  if (scope === "site") {
    return target === undefined ? undefined : { field: "/args/target", message: "the whole site has no target" };
  }
  return target === undefined ? { field: "/args/target", message: `which ${scope}?` } : undefined;
}

const scopeOf = ({ scope = "site", target = "" }: Where): Scope => (scope === "site" ? { scope } : { scope, target });

/** A site command must name a board; a board command must not. */
const boardProblem = ({ board }: { readonly board?: string }, scope: string): Problem | undefined => {
  if (scope === "site" && board === undefined) return { field: "/args/board", message: "which board?" };
  if (scope !== "site" && board !== undefined) return { field: "/args/board", message: "this board is meant already" };
  return undefined;
};

/** Commands that the leader executes for the whole site, or a board for its own Node. */
export const siteCommands: readonly Definition[] = [
  command({
    name: "leader.step-down",
    sentence: "Gives the site's Lease back, and does not take it again for holdOff seconds.",
    scopes: ["site"],
    class: "once",
    isSigned: true,
    group: "leadership",
    args: record({}, { to: name, holdOff: whole(1, 3600) }),
    perform: ({ site }, { to, holdOff = 60 }, { author, dryRun }) =>
      site.stepDown(to, holdOff * second, author, dryRun),
  }),
  command({
    name: "controllers.pause",
    sentence: "A controller does nothing for ttl seconds, whichever board leads.",
    scopes: ["site"],
    class: "idempotent",
    isSigned: true,
    args: record({ controller: name, ttl }, {}),
    perform: ({ site }, args, { author, dryRun }) => site.pause(args.controller, args.ttl * second, author, dryRun),
  }),
  command({
    name: "controllers.resume",
    sentence: "A paused controller goes on.",
    scopes: ["site"],
    class: "idempotent",
    isSigned: true,
    args: record({ controller: name }, {}),
    perform: ({ site }, { controller }, { author, dryRun }) => site.resume(controller, author, dryRun),
  }),
  command({
    name: "eviction.freeze",
    sentence: "Nothing is evicted from the site, a zone or a board for ttl seconds, whichever board leads.",
    scopes: ["site"],
    class: "idempotent",
    isSigned: true,
    args: record({ ttl }, where),
    problem: whereProblem,
    perform: ({ site }, args, { author, dryRun }) => site.freeze(scopeOf(args), args.ttl * second, author, dryRun),
  }),
  command({
    name: "eviction.thaw",
    sentence: "A freeze ends; what waited goes at the secondary rate at first.",
    scopes: ["site"],
    class: "idempotent",
    isSigned: true,
    args: record({}, where),
    problem: whereProblem,
    perform: ({ site }, args, { author, dryRun }) => site.thaw(scopeOf(args), author, dryRun),
  }),
  command({
    name: "zone.confirm-dead",
    sentence: "The silent boards of a zone are dead, says somebody who knows; for ttl seconds.",
    scopes: ["site"],
    class: "once",
    isSigned: true,
    args: record({ zone: name, ttl }, {}),
    perform: ({ site }, { zone, ttl }, { author, dryRun }) => site.confirmZoneDead(zone, ttl * second, author, dryRun),
  }),
  command({
    name: "board.confirm-dead",
    sentence: "A silent board is dead, says somebody who knows: its pods are deleted by force.",
    scopes: ["site"],
    class: "once",
    isSigned: true,
    args: record({ board: name }, {}),
    perform: ({ site }, { board }, { author, dryRun }) => site.confirmBoardDead(board, author, dryRun),
  }),
  ...[true, false].map((cordoned) =>
    command({
      name: cordoned ? "board.cordon" : "board.uncordon",
      sentence: cordoned ? "No new pods are scheduled on the board." : "Pods are scheduled on the board again.",
      scopes: ["board", "site"],
      class: "idempotent",
      isSigned: true,
      args: record({}, { board: name }),
      problem: boardProblem,
      perform: ({ site }, { board }, { author, dryRun }) => site.cordon(board, cordoned, author, dryRun),
    }),
  ),
  command({
    name: "board.drain",
    sentence: "Cordons this board and evicts its pods, as far as their disruption budgets allow.",
    scopes: ["board"],
    class: "once",
    isSigned: true,
    group: "drain",
    isCancellable: true,
    args: record({ timeout: whole(10, 21_600) }, { gracePeriod: whole(0, 3600), force: yesNo }),
    // The drain keeps its own deadline, since it reports how far it got.
    timeout: ({ timeout }) => (timeout + 30) * second,
    perform: ({ site }, { timeout, gracePeriod, force = false }, { author, dryRun, progress, signal }) =>
      site.drain(
        { timeout: timeout * second, force, ...(gracePeriod !== undefined && { gracePeriod }) },
        author,
        progress,
        signal,
        dryRun,
      ),
  }),
];
