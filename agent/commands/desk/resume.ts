import type { CommandRow } from "../../../storage/command-log.ts";
import type { Ambient } from "../../base/ambient.ts";
import { elapsed, type Millis, sleep } from "../../base/clock.ts";
import { readLastingEnd } from "../../base/lasting-end.ts";
import { type DeskState, judgeAgain, type Read } from "./checks.ts";
import { parseEnvelope } from "./envelope.ts";
import { type Ledger, readAnswer } from "./ledger.ts";
import { type Refusal, rejected } from "./refusal.ts";
import { find } from "./registry.ts";
import type { Request } from "./request.ts";
import type { Outcome } from "./responses.ts";

export interface ResumeParts {
  readonly board: string;
  readonly ledger: Ledger;
  state(): DeskState;
}

/** What to do with a command accepted by the previous process. */
export type Fate =
  | { readonly do: "answer"; readonly outcome: Outcome }
  | { readonly do: "carry out"; readonly command: Read };

export const scopeOf = ({ scope }: CommandRow): Request["scope"] =>
  scope === "site" || scope === "fleet" ? scope : "board";

export const originOf = ({ origin }: CommandRow): Request["origin"] => (origin === "local" ? "local" : "mqtt");

/**
 * A `once` command that may have taken effect is over, as its progress is unknown. Every other command is executed if
 * the checks still allow it; one that never began is refused as if it had just arrived.
 */
export async function fateOf(
  ambient: Ambient,
  row: CommandRow,
  parts: ResumeParts,
  signal: AbortSignal,
): Promise<Fate | undefined> {
  const { id, name, state, payload } = row;
  const [scope, origin] = [scopeOf(row), originOf(row)];
  const definition = find(name, scope);
  const read = parseEnvelope(Buffer.from(payload, "utf8"), { id, name });
  if (!definition || "refusal" in read) return answer(interrupted("this version does not know the command"));
  const { envelope } = read;
  if (definition.endsWithStart)
    return answer({ state: "succeeded", code: 200, result: { bootId: parts.state().bootId } });
  const mayHaveBegun = definition.class !== "once" || state === "running";
  if (definition.class === "once" && mayHaveBegun) return answer(interrupted("the agent ended in the middle of it"));

  const lapses = readLastingEnd(row.lapses);
  const begun = ambient.clock.now();
  for (;;) {
    if (signal.aborted) return undefined;
    const timeLeft = parts.ledger.leftOf(lapses);
    const command: Read = {
      ...{ request: { origin, scope }, envelope, definition, args: envelope.args ?? {} },
      ...{ signature: { is: "missing" }, timeLeft },
    };
    const now = parts.state();
    const judged = judgeAgain(command, now);
    const refusal = judged ?? overtaken(row, now);
    if (!refusal) return { do: "carry out", command };
    const isUndecided = judged?.error === "not-leader" && mayStillLead(now, parts.board);
    if (!isUndecided || elapsed(begun, ambient.clock.now()) > electionPatience) {
      return answer(mayHaveBegun ? interrupted(refusal.message, refusal) : refusal);
    }
    await sleep(ambient.clock, 1000, signal);
  }
}

/**
 * A site command is valid in the term that accepted it and in the next term of the same board: a leader in between may
 * have received contrary orders.
 */
function overtaken(row: CommandRow, { standing: { leader, term } }: DeskState): Refusal | undefined {
  const { term: accepted } = readAnswer(row.answer);
  const isNext = typeof accepted === "number" && (term === accepted || term === accepted + 1);
  if (scopeOf(row) !== "site" || isNext) return undefined;
  const why = "another board may have led the site since it was accepted";
  return { ...rejected(421, "not-leader", why), result: { leader, term } };
}

/** An election takes one Lease duration, by default a minute. */
const electionPatience: Millis = 120_000;

/** There is no leader yet, or the Lease names this board, whose new process has not resumed the term. */
const mayStillLead = ({ standing: { leader } }: DeskState, board: string): boolean =>
  leader === undefined || leader === board;

const answer = (outcome: Outcome): Fate => ({ do: "answer", outcome });

const interrupted = (message: string, why?: Refusal): Outcome => ({
  state: "failed",
  code: 500,
  error: "interrupted",
  message,
  ...(why?.result && { result: why.result }),
});
