import type { Ambient } from "../../base/ambient.ts";
import type { KubeClient } from "../../client/kube-client.ts";
import type { Config } from "../../config/settings.ts";
import type { BoardVerdictDeps } from "../../controllers/board-verdicts.ts";
import type { LeaderElector } from "../../election/leader-elector.ts";
import type { EventAction, ObjectRef } from "../../execution/actions.ts";
import type { Executor } from "../../execution/executor.ts";
import type { Term } from "../../execution/fence.ts";
import type { HoldBook } from "../../holds/hold-book.ts";
import type { ValveBook } from "../../holds/valve-book.ts";
import type { CurrentTerm } from "../../leading/current-term.ts";
import type { Caches } from "../../loop/site-view.ts";
import type { Author } from "../desk/controls.ts";

/** Collaborators of the site's commands. */
export interface OperationsDeps {
  readonly ambient: Ambient;
  readonly config: Config;
  readonly client: KubeClient;
  readonly elector: LeaderElector;
  readonly current: CurrentTerm;
  readonly holds: HoldBook;
  /** Undefined under policy `kubernetes`, which has no safety valve. */
  readonly valve: Pick<ValveBook, "holdingSince"> | undefined;
  /** The caches of the site's objects, without boards that another site claims. */
  readonly caches: Caches;
  readonly verdictDeps: BoardVerdictDeps;
  readonly executor: Executor;
  readonly announce: (event: EventAction, term: Term) => void;
  /** Called after each change that the status must show immediately. */
  readonly statusChanged: () => void;
}

/** The limits within which an order acts. */
export interface OrderBounds {
  /** Checks everything and changes nothing. */
  readonly dryRun: boolean;
  /** Aborts when the order has been answered or is over, after which the order sends nothing more. */
  readonly signal: AbortSignal;
}

/** A term that never ends: a board may write its own Node, and Events about it, without leading. */
export const always: Term = { number: 0, signal: new AbortController().signal, standsAt: () => true };

/** Emits a Kubernetes Event about a command, so that `kubectl describe` shows its author and the reason. */
export function emitCommandEvent(
  { announce, current }: Pick<OperationsDeps, "announce" | "current">,
  about: ObjectRef | undefined,
  what: { readonly reason: string; readonly message: string },
  author: Author,
): void {
  if (about === undefined) return;
  const message = withAuthor(what.message, author);
  announce({ do: "event", about, severity: "Normal", reason: what.reason, message }, current.term ?? always);
}

/** Appends the author and the reason: "Node pi-3 cordoned by ops:alice: new fan". */
export const withAuthor = (what: string, { by, reason }: Author): string =>
  `${what} by ${by}${reason === undefined ? "" : `: ${reason}`}`;
