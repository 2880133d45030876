import { elapsed, type Instant, shifted } from "../../../base/clock.ts";
import { asRecord, recordIn, type UnknownFields } from "../../../base/json.ts";
import type { EarlierSilence } from "../../../judgement/lan-silence.ts";
import { evictionsWithin, type SiteMemory } from "../memory.ts";
import type { Budget, RunningTaint, ZoneBudget } from "./budget.ts";
import { levelAt } from "./eviction-queue.ts";
import type { ZoneState } from "./zones.ts";

/** Annotation of the Lease that passes the site's zone budgets from leader to leader. */
export const budgetAnnotation = "siteward.dev/budget";

/**
 * Limits of the annotation, in boards and bytes: all annotations of an object share 256 KiB, and a Lease above that
 * could not be renewed. If a board is left out, its toleration times restart; if a zone is left out, it starts like a
 * new one. A text longer than `maxTextLength` is ignored.
 */
const maxBoards = 500;
const maxSilences = 200;
const maxSignLength = 64;
const maxOfEach = 48 * 1024;
const maxOfSilences = 16 * 1024;
const maxTextLength = 112 * 1024;

/**
 * Encodes the zones, and how long each taint and each silence have lasted, in whole seconds, rounded down. `term`: that of
 * the leader that writes it.
 */
export function encodeBudget({ zones, boards, foreign }: SiteMemory, term: number | undefined, now: Instant): string {
  const running = [...boards]
    .flatMap(([name, { taint }]) => (taint === undefined ? [] : [{ name, ...taint }]))
    .sort((a, b) => a.since.mono - b.since.mono)
    .slice(0, maxBoards);
  const silences = [...boards]
    .flatMap(([name, { silence }]) => (silence === undefined ? [] : [{ name, ...silence }]))
    .sort((a, b) => b.silentMs - a.silentMs)
    .slice(0, maxSilences);
  return JSON.stringify({
    ...foreign,
    v: 1,
    term,
    zones: fitting(
      [...zones].map(([name, { state, queue, evictions, foreign }]) => [
        name,
        {
          ...foreign,
          state,
          level: Math.round(levelAt(queue, now) * 1000) / 1000,
          evictions: evictionsWithin(evictions, now),
        },
      ]),
    ),
    boards: fitting(
      running.map(({ name, since, isBack, added, foreign }) => {
        const s = Math.floor(elapsed(since, now) / 1000);
        return [name, { ...foreign, s, ...(isBack && { back: true }), ...(added !== undefined && { added }) }];
      }),
    ),
    ...(silences.length > 0 && {
      silent: fitting(
        silences.map(({ name, sign, silentMs, isLost, hasAnswered }) => [
          name,
          {
            sign,
            s: Math.floor(silentMs / 1000),
            ...(isLost && { lost: true }),
            ...(hasAnswered && { answered: true }),
          },
        ]),
        maxOfSilences,
      ),
    }),
  });
}

/** The first entries, as many as fit into `room` bytes. */
function fitting(entries: readonly (readonly [name: string, value: object])[], room = maxOfEach): UnknownFields {
  let rest = room;
  return Object.fromEntries(
    entries.filter((entry) => {
      rest -= Buffer.byteLength(JSON.stringify(entry));
      return rest >= 0;
    }),
  );
}

/**
 * The budget that a leader takes over. `undoneUntil`: the highest term of which a restore of the API server may have undone
 * something. Nothing that a leader of such a term wrote about boards is taken over, because a taint or a silence in the
 * backup may have ended since, and begun anew.
 */
export function inheritedBudget(
  text: string | undefined,
  undoneUntil: number | undefined,
  now: Instant,
): Budget | undefined {
  const budget = decodeBudget(text, now);
  const isFromBackup = undoneUntil !== undefined && !(budget?.term !== undefined && budget.term > undoneUntil);
  return budget && isFromBackup ? { ...budget, taints: new Map(), silences: new Map() } : budget;
}

/** Returns `undefined` for a missing text or an unknown version. Skips invalid entries. */
export function decodeBudget(text: string | undefined, now: Instant): Budget | undefined {
  const { v: version, term, zones, boards, silent, ...foreign } = recordIn(text ?? "", maxTextLength) ?? {};
  if (version !== 1) return undefined;
  return {
    zones: new Map(
      Object.entries(asRecord(zones)).flatMap(([name, zone]) => {
        const budget = zoneBudget(asRecord(zone));
        return budget ? [[name, budget] as const] : [];
      }),
    ),
    taints: new Map(
      Object.entries(asRecord(boards)).flatMap(([name, board]) => {
        const taint = runningTaint(asRecord(board), now);
        return taint ? [[name, taint] as const] : [];
      }),
    ),
    silences: new Map(
      Object.entries(asRecord(silent)).flatMap(([name, board]) => {
        const silence = silenceIn(asRecord(board));
        return silence ? [[name, silence] as const] : [];
      }),
    ),
    term: isAmount(term) ? term : undefined,
    readAt: now,
    foreign,
  };
}

function zoneBudget({ state, level, evictions, ...foreign }: UnknownFields): ZoneBudget | undefined {
  if (!isState(state) || !isAmount(level)) return undefined;
  return { state, level: Math.min(1, level), evictions: isAmount(evictions) ? Math.floor(evictions) : 0, foreign };
}

function runningTaint({ s, back, added, ...foreign }: UnknownFields, now: Instant): RunningTaint | undefined {
  if (!isAmount(s)) return undefined;
  const since = shifted(now, -s * 1000);
  return {
    added: typeof added === "string" ? added : undefined,
    since,
    ...(back === true && { isBack: true }),
    foreign,
  };
}

function silenceIn({ sign, s, lost, answered }: UnknownFields): EarlierSilence | undefined {
  if (typeof sign !== "string" || sign.length > maxSignLength || !isAmount(s)) return undefined;
  return {
    sign,
    silentMs: Math.floor(s) * 1000,
    isLost: lost === true,
    ...(answered === true && { hasAnswered: true }),
  };
}

const isState = (value: unknown): value is ZoneState =>
  value === "initial" || value === "normal" || value === "partial" || value === "full";

const isAmount = (value: unknown): value is number => typeof value === "number" && value >= 0 && value < 1e12;
