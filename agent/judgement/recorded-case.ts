import {
  list,
  mapped,
  number,
  only,
  optional,
  record,
  type SchemaProblems,
  simple,
  type TypeOf,
  text,
  whole,
  word,
} from "../base/schema.ts";
import type { DecisionRecord } from "../decisions/decision-record.ts";
import type { Because, Grounds, SilenceFacts } from "../decisions/grounds.ts";
import { decideAgain, type RepeatedDecision } from "./ruling.ts";

const family = "decision";

/** A text of a case, at most 1024 characters; the texts of records are shorter. */
const words = text({ most: 1024 });
const maxTaints = 1000;
const ms = whole({ min: 0 });
const yes = simple<true>({ const: true }, "true", (value) => value === true);
const verdict = word("alive", "unknown", "unproven", "lost", "cut-off", "unmanaged", "self-isolated", "dead");
const counted = { questions: whole({ min: 0 }), overMs: ms };

const silenceMembers = {
  verdict: optional(verdict),
  rule: optional(words),
  silentMs: optional(ms),
  graceMs: optional(ms),
  missedMs: optional(ms),
  unheard: optional(yes),
  provenMs: optional(ms),
  notLive: optional(yes),
  own: optional(yes),
  heard: optional(
    word(
      "kubelet ok",
      "kubelet unknown",
      "kubelet down",
      "kubelet down too long",
      "no kubelet since boot",
      "no pods since boot",
    ),
  ),
  asked: optional(
    record({
      ...counted,
      calibrated: optional(yes),
      foundLost: optional(yes),
      answeredMs: optional(ms),
      answered: optional(yes),
      alone: optional(record(counted)),
    }),
  ),
  holdMs: optional(ms),
  earlierMs: optional(ms),
  held: optional(yes),
  confirmedBy: optional(words),
  zone: optional(record({ name: words, state: words })),
};

/** Adds a problem for each of the named members that is missing. */
function hasAll<T extends object>(value: T, names: readonly (keyof T & string)[], problems: SchemaProblems): boolean {
  const missing = names.filter((name) => value[name] === undefined);
  for (const name of missing) problems.addAt(name, { is: "missing", expects: "a value" });
  return missing.length === 0;
}

type GivenSilence = Partial<SilenceFacts>;

/**
 * The facts about a silence. If the case has measurements (silentMs, graceMs), its verdict is computed from them when
 * the case is replayed; until then it is `unknown`.
 */
function silenceOf(facts: GivenSilence, problems: SchemaProblems): SilenceFacts | undefined {
  const isMeasured = facts.silentMs !== undefined || facts.graceMs !== undefined;
  if (!hasAll(facts, isMeasured ? ["silentMs", "graceMs"] : ["verdict", "rule"], problems)) return undefined;
  return { verdict: "unknown", rule: "", ...facts };
}

const because = mapped(
  record({
    kind: word("silence", "reported", "taints", "node-deleted", "out-of-service"),
    ...silenceMembers,
    taints: optional(list(words, maxTaints)),
    toleratedMs: optional(ms),
    ranMs: optional(ms),
    silence: optional(mapped(record(silenceMembers), silenceOf)),
    by: optional(words),
    reason: optional(words),
  }),
  (facts, problems): Because | undefined => {
    const { kind, taints, toleratedMs, ranMs, silence, by, reason, ...rest } = facts;
    switch (kind) {
      case "silence": {
        const found = silenceOf(rest, problems);
        return found && { kind, ...found };
      }
      case "taints":
        if (!hasAll(facts, ["taints", "toleratedMs", "ranMs"], problems)) return undefined;
        return {
          kind,
          taints: taints ?? [],
          toleratedMs: toleratedMs ?? 0,
          ranMs: ranMs ?? 0,
          ...(silence && { silence }),
        };
      case "out-of-service":
        return {
          kind,
          ...(by !== undefined && { by }),
          ...(reason !== undefined && { reason }),
          ...(silence && { silence }),
        };
      default:
        return { kind };
    }
  },
);

const given = record({
  act: word("board-marked", "board-tainted", "pod-evicted", "pod-collected", "pod-replaced"),
  board: words,
  because,
  gate: record({
    policy: optional(word("evidence", "kubernetes")),
    ready: optional(word("True", "False", "Unknown")),
    notLive: optional(yes),
    quarantine: optional(yes),
    awaited: optional(yes),
    frozenMs: optional(ms),
    turnInMs: optional(ms),
    rate: optional(number({ min: 0 })),
    level: optional(number({ min: 0, max: 1 })),
    free: optional(word("swap", "paid")),
    former: optional(yes),
    nodeDeleted: optional(yes),
    doubtful: optional(yes),
    confirmed: optional(word("silent", "heard")),
    valve: optional(word("acts", "pods", "share", "boards", "unknown")),
    newPod: optional(yes),
    move: optional(
      record({
        owner: word("none", "StatefulSet", "DaemonSet", "other"),
        wish: optional(word("hold", "replace-when-lost", "unknown")),
        of: optional(word("pod", "namespace")),
        obstacle: optional(word("no board", "placement", "volume")),
      }),
    ),
  }),
});

/**
 * A recorded decision as a case: what it was based on, and what was decided (docs/interfaces.md#decision-records).
 * `expect` may be left out, and so may each of its members.
 */
export const recordedCase = record({
  id: words,
  family: only(family),
  note: optional(words),
  given,
  expect: optional(
    record({
      ruling: optional(
        word(
          "act",
          "not-due",
          "not-live",
          "quarantine",
          "report",
          "verdict",
          "valve",
          "zone",
          "freeze",
          "turn",
          "no-gain",
        ),
      ),
      verdict: optional(verdict),
      rule: optional(words),
    }),
  ),
});

export type RecordedCase = TypeOf<typeof recordedCase>;

/** A case as it is written. */
export interface ExportedCase {
  readonly id: string;
  readonly family: typeof family;
  readonly note: string;
  readonly given: Omit<Grounds, "because"> & { readonly because: object };
  readonly expect: Pick<RepeatedDecision, "ruling" | "verdict">;
}

/**
 * The latest decision of a record as a case; undefined if an earlier version wrote the record, without all facts on
 * which the decision rested. If the act was held back and has lapsed, the case is about the decision to hold it back.
 * The sentence of the rule is not compared, because a later version may word it differently.
 */
export function caseOf(
  { act, board, because, gate, state, restraints }: DecisionRecord,
  { id, note }: Pick<ExportedCase, "id" | "note">,
): ExportedCase | undefined {
  if (gate === undefined) return undefined;
  const held = state === "held" || state === "lapsed" ? restraints.at(-1)?.why : undefined;
  const facts = because.kind === "silence" ? because : "silence" in because ? because.silence : undefined;
  return {
    id,
    family,
    note,
    given: { act, board, because: withoutVerdict(because), gate },
    expect: { ruling: held ?? "act", ...(facts && { verdict: facts.verdict }) },
  };
}

/** The facts without the verdicts that follow from them. */
function withoutVerdict(because: Because): object {
  switch (because.kind) {
    case "silence":
      return evidenceOf(because);
    case "taints":
    case "out-of-service":
      return because.silence ? { ...because, silence: evidenceOf(because.silence) } : because;
    default:
      return because;
  }
}

function evidenceOf<T extends SilenceFacts>({ verdict, rule, held, ...evidence }: T): object {
  return evidence.silentMs === undefined ? { verdict, rule, ...(held && { held }), ...evidence } : evidence;
}

/** A part of a decision that differs from what is expected. */
export interface DecisionDifference {
  readonly member: keyof RepeatedDecision;
  readonly expected: string;
  /** Undefined if the decision rests on no verdict. */
  readonly found: string | undefined;
}

/** Decides the case again, by the rules that controllers follow, and compares the result with the expected one. */
export function replayCase({ given, expect = {} }: RecordedCase): {
  readonly decision: RepeatedDecision;
  readonly differences: readonly DecisionDifference[];
} {
  const decision = decideAgain(given);
  const members = ["ruling", "verdict", "rule"] as const;
  const differences = members.flatMap((member) => {
    const [expected, found] = [expect[member], decision[member]];
    return expected === undefined || expected === found ? [] : [{ member, expected, found }];
  });
  return { decision, differences };
}
