import { optional, record, text, whole, word, yesNo } from "../../../base/schema.ts";
import type { ArgumentProblem } from "../arguments.ts";
import type { FreezeScope } from "../controls.ts";
import { command, type Definition } from "./definition.ts";

const second = 1000;
/** Duration of a hold in seconds; every hold ends by itself. */
const ttl = whole({ min: 60, max: 86_400 });
/** Names of zones, boards and controllers: Kubernetes names and label values, with "/" between region and zone. */
const name = text({ pattern: /^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$/, most: 253 });

const where = { scope: optional(word("site", "zone", "board")), target: optional(name) };

interface Where {
  readonly scope?: "site" | "zone" | "board";
  readonly target?: string;
}

function whereProblem({ scope = "site", target }: Where): ArgumentProblem | undefined {
  if (scope === "site") {
    return target === undefined
      ? undefined
      : { field: "/args/target", message: "must be omitted: scope site has no target" };
  }
  return target === undefined ? { field: "/args/target", message: `must name the ${scope}` } : undefined;
}

const scopeOf = ({ scope = "site", target = "" }: Where): FreezeScope =>
  scope === "site" ? { scope } : { scope, target };

/** A site command must name a board; a board command must not. */
const boardProblem = ({ board }: { readonly board?: string }, scope: string): ArgumentProblem | undefined => {
  if (scope === "site" && board === undefined) return { field: "/args/board", message: "must name the board" };
  if (scope !== "site" && board !== undefined)
    return { field: "/args/board", message: "must be omitted: a command sent to a board applies to that board" };
  return undefined;
};

/** Commands that the leader executes for the whole site, or a board for its own Node. */
export const siteCommands: readonly Definition[] = [
  command({
    name: "leader.step-down",
    sentence: "Releases the site's Lease, and does not acquire it again for holdOff seconds.",
    scopes: ["site"],
    class: "once",
    isSigned: true,
    group: "leadership",
    args: record({ to: optional(name), holdOff: optional(whole({ min: 1, max: 3600 })) }),
    perform: ({ site }, { to, holdOff = 60 }, { author, dryRun, signal }) =>
      site.stepDown(to, holdOff * second, author, dryRun, signal),
  }),
  command({
    name: "controllers.pause",
    sentence: "Pauses a controller for ttl seconds, regardless of which board leads.",
    scopes: ["site"],
    class: "idempotent",
    isSigned: true,
    args: record({ controller: name, ttl }),
    perform: ({ site }, args, { author, dryRun, signal }) =>
      site.pause(args.controller, args.ttl * second, author, dryRun, signal),
  }),
  command({
    name: "controllers.resume",
    sentence: "Resumes a paused controller.",
    scopes: ["site"],
    class: "idempotent",
    isSigned: true,
    args: record({ controller: name }),
    perform: ({ site }, { controller }, { author, dryRun, signal }) => site.resume(controller, author, dryRun, signal),
  }),
  command({
    name: "eviction.freeze",
    sentence: "Stops evictions from lost or not-ready boards of the site, a zone or one board for ttl seconds.",
    scopes: ["site"],
    class: "idempotent",
    isSigned: true,
    args: record({ ttl, ...where }),
    problem: whereProblem,
    perform: ({ site }, args, { author, dryRun, signal }) =>
      site.freeze(scopeOf(args), args.ttl * second, author, dryRun, signal),
  }),
  command({
    name: "eviction.thaw",
    sentence: "Ends a freeze; pending evictions start at the secondary rate.",
    scopes: ["site"],
    class: "idempotent",
    isSigned: true,
    args: record(where),
    problem: whereProblem,
    perform: ({ site }, args, { author, dryRun, signal }) => site.thaw(scopeOf(args), author, dryRun, signal),
  }),
  command({
    name: "valve.release",
    sentence: "Lets harmful acts exceed the limits of the safety valve for ttl seconds.",
    scopes: ["site"],
    class: "once",
    isSigned: true,
    args: record({ ttl: whole({ min: 60, max: 3600 }) }),
    perform: ({ site }, args, { author, dryRun, signal }) =>
      site.releaseValve(args.ttl * second, author, dryRun, signal),
  }),
  command({
    name: "valve.rearm",
    sentence: "Withdraws a release of the safety valve: its limits apply again.",
    scopes: ["site"],
    class: "idempotent",
    isSigned: true,
    args: record({}),
    perform: ({ site }, _args, { author, dryRun, signal }) => site.rearmValve(author, dryRun, signal),
  }),
  command({
    name: "zone.confirm-dead",
    sentence: "Confirms that the silent boards of a zone are dead, for ttl seconds or until each gives a sign of life.",
    scopes: ["site"],
    class: "once",
    isSigned: true,
    args: record({ zone: name, ttl }),
    perform: ({ site }, { zone, ttl }, { author, dryRun, signal }) =>
      site.confirmZoneDead(zone, ttl * second, author, dryRun, signal),
  }),
  command({
    name: "zone.unconfirm-dead",
    sentence: "Withdraws the confirmation that the silent boards of a zone are dead.",
    scopes: ["site"],
    class: "idempotent",
    isSigned: true,
    args: record({ zone: name }),
    perform: ({ site }, { zone }, { author, dryRun, signal }) => site.unconfirmZoneDead(zone, author, dryRun, signal),
  }),
  command({
    name: "board.confirm-dead",
    sentence: "Confirms that a silent board is dead: its pods are deleted by force.",
    scopes: ["site"],
    class: "once",
    isSigned: true,
    args: record({ board: name }),
    perform: ({ site }, { board }, { author, dryRun, signal }) => site.confirmBoardDead(board, author, dryRun, signal),
  }),
  ...[true, false].map((cordoned) =>
    command({
      name: cordoned ? "board.cordon" : "board.uncordon",
      sentence: cordoned ? "Stops scheduling of new pods on the board." : "Allows scheduling of new pods on the board.",
      scopes: ["board", "site"],
      class: "idempotent",
      isSigned: true,
      isScheduling: true,
      args: record({ board: optional(name) }),
      problem: boardProblem,
      perform: ({ site }, { board }, { author, dryRun, signal }) =>
        site.cordon(board, cordoned, author, dryRun, signal),
    }),
  ),
  command({
    name: "board.drain",
    sentence: "Cordons this board and evicts its pods, as far as their disruption budgets allow.",
    scopes: ["board"],
    class: "once",
    isSigned: true,
    isScheduling: true,
    group: "drain",
    isCancellable: true,
    args: record({
      timeout: whole({ min: 10, max: 21_600 }),
      gracePeriod: optional(whole({ min: 0, max: 3600 })),
      force: optional(yesNo),
    }),
    // The drain enforces its own deadline, because it reports how far it got.
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
