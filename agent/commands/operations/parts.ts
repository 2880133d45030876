import type { Ambient } from "../../base/ambient.ts";
import type { KubeClient } from "../../client/kube-client.ts";
import type { Config } from "../../config/settings.ts";
import type { SightParts } from "../../controllers/board-verdicts.ts";
import type { LeaderElector } from "../../election/leader-elector.ts";
import type { EventAction, ObjectRef } from "../../execution/actions.ts";
import type { Executor } from "../../execution/executor.ts";
import type { HoldBook } from "../../holds/hold-book.ts";
import type { TermWork } from "../../leading/term-work.ts";
import type { Term } from "../../loop/controller.ts";
import type { Caches } from "../../site/site-view.ts";
import type { Author } from "../desk/controls.ts";

/** Collaborators of the site's commands. */
export interface ControlParts {
  readonly ambient: Ambient;
  readonly config: Config;
  readonly client: KubeClient;
  readonly elector: LeaderElector;
  readonly work: Pick<TermWork, "term" | "loops" | "site">;
  readonly holds: HoldBook;
  /** Excludes boards claimed by another site. */
  readonly caches: Caches;
  readonly sight: SightParts;
  readonly executor: Executor;
  readonly announce: (event: EventAction, term: Term) => void;
}

/** A term that always stands: a board may write its own Node, and Events about it, without leading. */
export const always: Term = { number: 0, signal: new AbortController().signal, standsAt: () => true };

/** Emits a Kubernetes Event, so that `kubectl describe` shows the author and the reason. */
export function tellOf(
  { announce, work }: Pick<ControlParts, "announce" | "work">,
  about: ObjectRef | undefined,
  what: { readonly reason: string; readonly message: string },
  author: Author,
): void {
  if (about === undefined) return;
  const message = toldBy(what.message, author);
  announce({ do: "event", about, severity: "Normal", reason: what.reason, message }, work.term ?? always);
}

export const toldBy = (what: string, { by, reason }: Author): string =>
  `${what} by ${by}${reason === undefined ? "" : `: ${reason}`}`;
