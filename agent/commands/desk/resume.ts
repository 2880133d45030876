import type { CommandRow } from "../../../storage/command-log.ts";
import type { Ambient } from "../../base/ambient.ts";
import { elapsed, type Millis, sleep } from "../../base/clock.ts";
import { readLastingEnd } from "../../base/time/lasting-end.ts";
import { type DeskState, judgeAgain, type Read } from "./checks.ts";
import { find } from "./definitions/registry.ts";
import { parseEnvelope } from "./envelope.ts";
import type { Ledger } from "./ledger.ts";
import { type Refusal, rejection } from "./refusal.ts";
import type { CommandRequest } from "./request.ts";
import type { CommandOutcome } from "./responses.ts";

export interface ResumeDeps {
  readonly board: string;
  readonly ledger: Ledger;
  state(): DeskState;
  /** Number of commands that change the site and that this process has accepted. */
  siteChanges(): number;
}

/** What to do with a command accepted by the previous process. */
export type Fate =
  | { readonly do: "answer"; readonly outcome: CommandOutcome }
  | { readonly do: "carry out"; readonly command: Read };

export const scopeOf = ({ scope }: CommandRow): CommandRequest["scope"] =>
  scope === "site" || scope === "fleet" ? scope : "board";

export const originOf = ({ origin }: CommandRow): CommandRequest["origin"] => (origin === "local" ? "local" : "mqtt");

/**
 * Decides about a command that the previous process accepted and did not finish; undefined if the signal aborted. A
 * `once` command that may have taken effect is answered as interrupted, because its progress is unknown. The same
 * applies to an order about the scheduling of a board: this board, another one or kubectl may since have carried out a
 * contrary order, which a Node that is back in its earlier state does not show. Any other command is executed if the
 * checks still allow it, and no later command has overtaken it while it waited for this board to lead; otherwise, it is
 * refused or, if it may have started, answered as interrupted.
 */
export async function fateOf(
  ambient: Ambient,
  row: CommandRow,
  deps: ResumeDeps,
  signal: AbortSignal,
): Promise<Fate | undefined> {
  const { id, name, state, payload } = row;
  const [scope, origin] = [scopeOf(row), originOf(row)];
  const definition = find(name, scope);
  const read = parseEnvelope(Buffer.from(payload, "utf8"), { id, name });
  if (!definition || "refusal" in read)
    return answer(interrupted("this version of the agent does not know the command"));
  const { envelope } = read;
  if (definition.endsWithStart)
    return answer({ state: "succeeded", code: 200, result: { bootId: deps.state().bootId } });
  const mayHaveBegun = definition.class !== "once" || state === "running";
  if (definition.class === "once" && mayHaveBegun)
    return answer(interrupted("the agent stopped while the command was running"));

  const deadline = readLastingEnd(row.lapses);
  const begun = ambient.clock.now();
  const changes = deps.siteChanges();
  for (;;) {
    if (signal.aborted) return undefined;
    const timeLeft = deps.ledger.leftOf(deadline);
    const command: Read = {
      ...{ request: { origin, scope }, envelope, definition, args: envelope.args ?? {} },
      ...{ signature: { is: "missing" }, timeLeft },
    };
    const now = deps.state();
    if (deps.siteChanges() !== changes) return answer(interrupted("a later command was carried out before this one"));
    const judged = judgeAgain(command, now);
    if (definition.isScheduling && judged?.state !== "expired") return answer(interrupted(perhapsUndone));
    const refusal = judged ?? overtaken(row, now, deps.ledger);
    if (!refusal) return { do: "carry out", command };
    const isUndecided = judged?.error === "not-leader" && mayStillLead(now, deps.board);
    if (!isUndecided || elapsed(begun, ambient.clock.now()) > electionPatience) {
      return answer(mayHaveBegun ? interrupted(refusal.message, refusal) : refusal);
    }
    await sleep(ambient.clock, 1000, signal);
  }
}

/**
 * Refuses a site command unless this is the term in which it was accepted, or the next one, because a leader in between
 * may have received contradictory commands.
 */
function overtaken(row: CommandRow, { standing: { leader, term } }: DeskState, ledger: Ledger): Refusal | undefined {
  const accepted = ledger.answerOf(row)?.term;
  const isNext = typeof accepted === "number" && (term === accepted || term === accepted + 1);
  if (scopeOf(row) !== "site" || isNext) return undefined;
  const why = "another board may have led the site since the command was accepted";
  return { ...rejection(421, "not-leader", why), result: { leader, term } };
}

/**
 * How long a site command waits for this board to lead again: an election takes one Lease duration, by default 60 s.
 */
const electionPatience: Millis = 120_000;

/**
 * Whether this board may still become leader: the site has no leader, or the Lease names this board and its new process
 * has not yet resumed the term.
 */
const mayStillLead = ({ standing: { leader } }: DeskState, board: string): boolean =>
  leader === undefined || leader === board;

const perhapsUndone =
  "the agent stopped before the command ended, and a later command for the board may have been carried out since: check the board, and repeat the command if it is still wanted";

const answer = (outcome: CommandOutcome): Fate => ({ do: "answer", outcome });

const interrupted = (message: string, why?: Refusal): CommandOutcome => ({
  state: "failed",
  code: 500,
  error: "interrupted",
  message,
  ...(why?.result && { result: why.result }),
});
