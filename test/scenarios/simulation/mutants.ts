import { registerHooks } from "node:module";
import type { Wishes } from "./schedule.ts";

/** A way to break the agent: texts that occur exactly once in its sources, with their replacements. */
export interface Mutant {
  readonly breaks: readonly { readonly file: string; readonly text: string; readonly by: string }[];
  /** The check that must detect it: the prefix of its violations. */
  readonly noticedBy: string;
  /** The schedules in which it shows soonest. */
  readonly wishes: Wishes;
}

const one = (file: string, text: string, by: string): Mutant["breaks"] => [{ file, text, by }];

const list = {
  "a fence that never blocks": {
    noticedBy: "terms",
    wishes: { motif: "paused leader", boards: 3 },
    breaks: one(
      "agent/execution/fence.ts",
      "if (!term.standsAt(clock.now())) throw",
      "if (clock.now().mono < 0) throw",
    ),
  },
  "a follower that does not wait for the end of a term": {
    noticedBy: "terms",
    wishes: { boards: 3 },
    breaks: one(
      "agent/election/lease-rules.ts",
      "shifted(at, trustedDuration(record, timing.duration))",
      "shifted(at, 0 * trustedDuration(record, timing.duration))",
    ),
  },
  "a term number that restarts with each Lease": {
    noticedBy: "terms",
    wishes: { motif: "lost Lease", boards: 2 },
    breaks: one(
      "agent/election/lease-rules.ts",
      'return { do: "create", term };',
      'return { do: "create", term: term * 0 };',
    ),
  },
  "a former term that is forgotten": {
    noticedBy: "terms",
    wishes: { motif: "lost Lease", boards: 3 },
    breaks: one("agent/assembly/election.ts", "formerTerm: leaderMemo.formerTerm(),", "formerTerm: undefined,"),
  },
  "a budget that is not carried over": {
    noticedBy: "budget",
    wishes: { motif: "dark zone", policy: "kubernetes", boards: 5 },
    breaks: one(
      "agent/controllers/node-lifecycle/zones/budget-annotation.ts",
      "const budget = decodeBudget(text, now);",
      "const budget = decodeBudget(text && undefined, now);",
    ),
  },
  "an eviction rate without a limit": {
    noticedBy: "budget",
    wishes: { motif: "dark zone", boards: 5 },
    breaks: one("agent/base/token-bucket.ts", "level >= 1 - 1e-9;", "level >= 0;"),
  },
  "a stall bound that is ignored": {
    noticedBy: "blind",
    wishes: { motif: "deaf leader", boards: 3 },
    breaks: [
      {
        file: "agent/informer/watch-health.ts",
        text: "elapsed(health.lastReceived, now) < limits.stall;",
        by: "elapsed(health.lastReceived, now) < 1000 * limits.stall;",
      },
      {
        file: "agent/informer/reflector/stall-guard.ts",
        text: "new IdleTimer(clock, limit, ()",
        by: "new IdleTimer(clock, 1000 * limit, ()",
      },
    ],
  },
  "silence without proof": {
    noticedBy: "blind",
    wishes: { motif: "deaf leader", boards: 3 },
    breaks: one("agent/controllers/node-lifecycle/health.ts", "provenMs: proof &&", "provenMs: 0 &&"),
  },
  "a grace period that is shortened without missed time": {
    noticedBy: "grace",
    wishes: { motif: "flapping site", policy: "evidence", boards: 5, lan: "none" },
    breaks: one(
      "agent/judgement/verdict.ts",
      "missedMs >= missedPeriods * graceMs ||",
      "missedMs >= 0 * missedPeriods * graceMs ||",
    ),
  },
  "respites in which nobody is heard": {
    noticedBy: "grace",
    wishes: { motif: "unheard site", policy: "evidence", boards: 3, lan: "none" },
    breaks: one(
      "agent/judgement/respites.ts",
      "const heard = heardAt === undefined ? 0 : Math.max(0, elapsed(since, heardAt));",
      "const heard = Math.max(0, elapsed(since, heardAt ?? now));",
    ),
  },
  "an outage of writes that begins with the first refusal": {
    noticedBy: "quarantine",
    wishes: { motif: "refused heartbeats", policy: "evidence", boards: 3, lan: "none" },
    breaks: one(
      "agent/election/lease-renewal-health.ts",
      "pendingSince && failures > 1 ?",
      "pendingSince && failures > 1e6 ?",
    ),
  },
  "a leader that harms its own board": {
    noticedBy: "own board",
    wishes: { motif: "flapping board", policy: "evidence", boards: 2 },
    breaks: one(
      "agent/controllers/node-lifecycle/health.ts",
      'policy === "evidence" && metadata.name === ownNode;',
      'policy === "evidence" && metadata.name !== metadata.name;',
    ),
  },
  "a safety valve without a limit": {
    noticedBy: "valve",
    wishes: { motif: "dark zone", policy: "evidence", boards: 5 },
    breaks: one(
      "agent/holds/valve.ts",
      "reduce((sum, { count }) => sum + count, admitted)",
      "reduce((sum) => sum, admitted)",
    ),
  },
  "a safety valve that a new leader refills": {
    noticedBy: "valve",
    wishes: { motif: "dark zone", policy: "evidence", boards: 5 },
    breaks: [
      {
        file: "agent/leading/term-work.ts",
        text: "valve?.begin(annotations[valveAnnotation], { lease, written }",
        by: 'valve?.begin(\'{"v":1,"total":9007199254740991,"acts":[]}\', { lease, written }',
      },
    ],
  },
  "half of the boards, and more": {
    noticedBy: "valve",
    wishes: { motif: "dark zone", policy: "evidence", boards: 3 },
    breaks: one("agent/controllers/safety-valve.ts", "Math.max(1, Math.floor(siteSize / 2))", "siteSize"),
  },
  "a StatefulSet that counts as a ReplicaSet": {
    noticedBy: "gain",
    wishes: { motif: "dark zone", policy: "evidence", boards: 3, lan: "none" },
    breaks: one(
      "agent/controllers/taint-eviction/prospects.ts",
      '(kind === "StatefulSet" || kind === "DaemonSet") ?',
      '(kind === "Set" || kind === "DaemonSet") ?',
    ),
  },
  "boards of which each can take every pod": {
    noticedBy: "gain",
    wishes: { motif: "dark zone", policy: "evidence", boards: 5, lan: "none" },
    breaks: one(
      "agent/controllers/taint-eviction/other-boards.ts",
      "if (!suits(node, pod, resources)) found",
      "if (!suits(node, pod, resources) && pod === undefined) found",
    ),
  },
  "pods that stay although another board can take them": {
    noticedBy: "converged",
    wishes: { motif: "dark zone", policy: "evidence", boards: 3, lan: "none" },
    breaks: one(
      "agent/controllers/taint-eviction/other-boards.ts",
      "node.metadata.name === board ||",
      "node.metadata.name ||",
    ),
  },
  "a word that is ignored": {
    noticedBy: "witnessed",
    wishes: { motif: "cut board", policy: "evidence", boards: 3, lan: "apart" },
    breaks: one(
      "agent/controllers/node-lifecycle/health.ts",
      "onLan(lan, health, silence, settings, now)",
      "onLan(lan && { ...lan, word: undefined }, health, silence, settings, now)",
    ),
  },
  "a word that lasts for ever": {
    noticedBy: "converged",
    wishes: { motif: "cut board", policy: "evidence", boards: 5, lan: "apart" },
    breaks: one("agent/judgement/lan-answer.ts", "if (age > answerValidFor &&", "if (age > 1000 * answerValidFor &&"),
  },
  "a reboot that is not noticed": {
    noticedBy: "converged",
    wishes: { motif: "dead kubelet", policy: "evidence", boards: 5, lan: "apart" },
    breaks: one("agent/judgement/lan-answer.ts", "if (word.isRebooted &&", "if (word.isRebooted && age < 0 &&"),
  },
  "a Node without its boot": {
    noticedBy: "converged",
    wishes: { motif: "dead kubelet", policy: "evidence", boards: 5, lan: "apart" },
    breaks: one("agent/informer/kinds/trim.ts", "info?.bootID ?", 'info?.bootID === "" ?'),
  },
  "a question that is asked once": {
    noticedBy: "witnessed",
    wishes: { motif: "cut board", policy: "evidence", boards: 3, lan: "apart" },
    breaks: one(
      "agent/witness/questioner.ts",
      "if (isOpen) this.#port.ask(board, where);",
      "if (isOpen && !word) this.#port.ask(board, where);",
    ),
  },
  "half a minute of silence after answers": {
    noticedBy: "witnessed",
    wishes: { motif: "lossy LAN", policy: "evidence", boards: 3, lan: "apart" },
    breaks: one("agent/judgement/lan-silence.ts", "answered ? minAfterAnswer :", "answered ? minQuestions :"),
  },
  "silence of a board that was never heard": {
    noticedBy: "unproven",
    wishes: { motif: "broken LAN", policy: "evidence", boards: 3, lan: "apart" },
    breaks: one(
      "agent/judgement/lan-silence.ts",
      "if (!calibrated && !foundLost) return",
      "if (calibrated && !foundLost) return",
    ),
  },
  "questions that count without a control": {
    noticedBy: "unproven",
    wishes: { motif: "broken LAN", policy: "evidence", boards: 2, lan: "apart" },
    breaks: one("agent/witness/questioner.ts", "if (isControlled(needed,", "if (at || isControlled(needed,"),
  },
  "a hold that is not kept": {
    noticedBy: "unproven",
    wishes: { motif: "broken LAN", policy: "evidence", boards: 3, lan: "apart" },
    breaks: one("agent/judgement/verdict.ts", "return held !== true;", "return held !== undefined || true;"),
  },
  "a zone that is not held": {
    noticedBy: "unproven",
    wishes: { motif: "dark zone", policy: "evidence", boards: 5, lan: "apart" },
    breaks: one("agent/controllers/node-lifecycle/zones/zone-hold.ts", "if (left >= 0) holds", "if (left > 1e9) holds"),
  },
  "a word about a board that outlives its return": {
    noticedBy: "confirmed",
    wishes: { motif: "confirmed board", policy: "evidence", boards: 3 },
    // The executor would not evict pods of a board that is back.
    breaks: [
      {
        file: "agent/controllers/node-lifecycle/out-of-service/mark.ts",
        text: 'mark.heartbeat === signs.heartbeat ? "silent" : "heard"',
        by: 'mark.heartbeat === signs.heartbeat ? "silent" : "silent"',
      },
      {
        file: "agent/assembly/execution.ts",
        text: "isBoardBack(grounds, boards.lister",
        by: "false && isBoardBack(grounds, boards.lister",
      },
    ],
  },
  "a board that is only asked where it announced itself": {
    noticedBy: "witnessed",
    wishes: { motif: "moved board", policy: "evidence", lan: "apart", boards: 3 },
    breaks: one(
      "agent/witness/questioner.ts",
      "this.#unanswering.has(board) && (",
      'this.#unanswering.has(board + "?") && (',
    ),
  },
  "a word about a board that a restore brings back": {
    noticedBy: "tolerations",
    wishes: { motif: "revived confirmation", policy: "evidence", lan: "none", boards: 5 },
    breaks: one(
      "agent/controllers/node-lifecycle/out-of-service/controller.ts",
      "mayBeUndone(mark, undoneUntil())",
      "mayBeUndone(mark, undoneUntil() && undefined)",
    ),
  },
  "a hold without an end": {
    noticedBy: "converged",
    wishes: { motif: "broken LAN", policy: "evidence", boards: 5, lan: "apart" },
    breaks: one("agent/judgement/verdict.ts", "return left >= 0 ? left : undefined;", "return left;"),
  },
  "a quarantine without effect": {
    noticedBy: "quarantine",
    wishes: { motif: "forgetful API", policy: "kubernetes", boards: 5 },
    breaks: [
      {
        file: "agent/judgement/link.ts",
        text: "restoredAt !== undefined && releasedAt === undefined;",
        by: "restoredAt !== undefined && releasedAt === restoredAt;",
      },
      {
        file: "agent/judgement/link.ts",
        text: "elapsed(restoredAt, now) < gracePeriod ? shifted",
        by: "elapsed(restoredAt, now) < 0 * gracePeriod ? shifted",
      },
    ],
  },
  "a grace period that begins before the first observation": {
    noticedBy: "grace",
    wishes: { boards: 3 },
    breaks: one(
      "agent/controllers/node-lifecycle/health.ts",
      "answered, ...silentSinceNow(now), reportedAt }",
      "answered, ...silentSinceNow(last ? now : shifted(now, -3_600_000)), reportedAt }",
    ),
  },
  "tolerations that are ignored": {
    noticedBy: "tolerations",
    wishes: { motif: "dark zone", boards: 3 },
    breaks: one(
      "agent/controllers/taint-eviction/timer.ts",
      "Math.floor(elapsed(start, now) + 1e-3)",
      "Math.floor(elapsed(start, now) + 3_600_000)",
    ),
  },
  "a taint that is not removed": {
    noticedBy: "converged",
    wishes: { motif: "flapping board", boards: 3 },
    breaks: one(
      "agent/controllers/node-lifecycle/taints.ts",
      "runningTaint(node) && changeTaints(",
      "runningTaint(node) && undefined && changeTaints(",
    ),
  },
  "pods that are missed": {
    noticedBy: "converged",
    wishes: { motif: "dark zone", boards: 3 },
    breaks: one("agent/controllers/taint-eviction/controller.ts", "enqueueOn(nodes, keysOnBoard),", ""),
  },
  "a Lease that is not released": {
    noticedBy: "ending",
    wishes: { boards: 2 },
    breaks: one("agent/election/term-run.ts", "await this.#release(ending.successor);", "await Promise.resolve();"),
  },
  "an act without a record": {
    noticedBy: "records",
    wishes: { motif: "dark zone", boards: 3 },
    breaks: one(
      "agent/execution/executor.ts",
      "if (outcome.ok) this.#decisions.acted(act);",
      "if (outcome.ok) return;",
    ),
  },
  "a record of an act that the server refused": {
    noticedBy: "records",
    wishes: { motif: "cut leader", boards: 3 },
    breaks: one("agent/execution/executor.ts", "if (outcome.ok) this", "if (outcome.ok || act.by) this"),
  },
  "a record of an earlier decision": {
    noticedBy: "replay",
    wishes: { motif: "held site", boards: 5 },
    breaks: one(
      "agent/decisions/decision-book.ts",
      "story.record = { ...story.record, because, gate };",
      "story.record = { ...story.record };",
    ),
  },
  "a record without a witness": {
    noticedBy: "replay",
    wishes: { motif: "flapping board", policy: "evidence", boards: 2 },
    breaks: one("agent/judgement/ruling.ts", "...(evidence.own && {", "...(evidence.own && !evidence.own && {"),
  },
  "a freeze that is ignored": {
    noticedBy: "holds",
    wishes: { motif: "held site", boards: 5 },
    breaks: one(
      "agent/holds/holds.ts",
      "isRunning(freeze, now) && covers(freeze, place)",
      "isRunning(freeze, place as never)",
    ),
  },
  "a freeze that ends with its leader": {
    noticedBy: "holds",
    wishes: { motif: "held site", boards: 5 },
    breaks: one(
      "agent/holds/hold-book.ts",
      "const holds = (isOlder ? undefined : found) ?? remembered;",
      "const holds = { ...noHolds, ...(found && isOlder && remembered && {}) };",
    ),
  },
  "a pause that is ignored": {
    noticedBy: "holds",
    wishes: { motif: "held site", boards: 5 },
    breaks: one(
      "agent/holds/holds.ts",
      "return pause !== undefined && isRunning(pause, now);",
      "return pause !== undefined && !isRunning(pause, now);",
    ),
  },
  "a restored server that goes unnoticed": {
    noticedBy: "cache",
    wishes: { motif: "restored API", boards: 3 },
    breaks: [
      {
        file: "agent/informer/server-history.ts",
        text: "if (order > 0 || isSame(found, before)) return;",
        by: "if (order !== 0 || isSame(found, before)) return;",
      },
      {
        file: "agent/informer/server-history.ts",
        text: 'if (isSame(then, known)) return "linked";',
        by: 'if (isSame(then, known) || then !== known) return "linked";',
      },
      {
        file: "agent/informer/trail.ts",
        text: "if (compareVersions(position, proving) <= 0) return {",
        by: "if (compareVersions(position, proving) <= 1e9) return {",
      },
    ],
  },
  "a lost history without a new list": {
    noticedBy: "cache",
    wishes: { motif: "forgetful API", boards: 3 },
    breaks: one(
      "agent/informer/reflector/position-state.ts",
      'if (dispositionOf(error) === "relist") return "expired";',
      'if (dispositionOf(error) === "relist") return "usable";',
    ),
  },
} as const satisfies Record<string, Mutant>;

export const mutants: Readonly<Record<string, Mutant>> = list;

const root = new URL("../../../", import.meta.url).href;

export function mutantOf(name: string): Mutant {
  const mutant = mutants[name];
  if (mutant === undefined)
    throw new Error(`there is no mutant "${name}"; there are: ${Object.keys(mutants).join(", ")}`);
  return mutant;
}

/** From now on, loads the agent's sources with the mutant's changes. */
export function mutate(mutant: Mutant): void {
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context);
      const breaks = mutant.breaks.filter(({ file }) => url === root + file);
      return breaks.length === 0 ? loaded : { ...loaded, source: breaks.reduce(broken, String(loaded.source)) };
    },
  });
}

function broken(source: string, { file, text, by }: Mutant["breaks"][number]): string {
  const pieces = source.split(text);
  if (pieces.length !== 2) throw new Error(`${file} has "${text}" ${pieces.length - 1} times, not once`);
  return pieces.join(by);
}
