import type { Node } from "../api/core.ts";
import { type JudgeNote, type JudgeSight, judgedTaints, judgeNotes, otherJudge } from "../api/judge-notes.ts";
import { parseObject } from "../api/parse.ts";
import { nodes } from "../api/resources.ts";
import { type Millis, sleep } from "../base/clock.ts";
import type { Config } from "../config/settings.ts";
import { flagsAgainst } from "../status/judge-problems.ts";
import type { Status } from "../status/schema.ts";
import type { ApiProbe } from "./api-probe.ts";
import { configOf, type Patient } from "./patient.ts";
import { fail, ok, skip, unreached, type Verdict, warn } from "./verdict.ts";

/** Maximum number of boards checked; a judge treats all of a site alike. */
const some = 50;
const between: Millis = 5_000;

export interface SeenBoard extends JudgeSight {
  readonly board: string;
}

/** Checks whether kube-controller-manager or another judge still judges boards of this site. */
export async function nodeJudge(patient: Patient): Promise<Verdict> {
  const { api, ambient, signal, status } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  if (config.controllers.nodeLifecycle.mode !== "act") return skip("this site leaves the judgement to others");
  try {
    const before = await sights(api, config);
    if (typeof before === "string") return skip(before);
    await sleep(ambient.clock, between, signal);
    const now = await sights(api, config);
    if (typeof now === "string") return skip(now);
    return judgeVerdict(before, now, status?.isFresh ? status.status : undefined);
  } catch {
    return unreached;
  }
}

async function sights(api: ApiProbe, { site }: Config): Promise<readonly SeenBoard[] | string> {
  const query = new URLSearchParams({ limit: String(some), labelSelector: site.nodeSelector ?? "" });
  const { status, body } = await api.ask("GET", `/api/v1/nodes?${query}`);
  if (status !== 200 || !Array.isArray(body?.items)) return `the Nodes cannot be listed (HTTP ${status})`;
  return body.items.flatMap((item: unknown): readonly SeenBoard[] => {
    const parsed = parseObject<Node>(item, nodes);
    if (!parsed.ok) return [];
    const { metadata } = parsed.object;
    return [{ board: metadata.name, notes: judgeNotes(metadata.managedFields), taints: judgedTaints(parsed.object) }];
  });
}

/** An existing managedFields entry shows a past write; one that appears during the check shows a current one. */
export function judgeVerdict(
  before: readonly SeenBoard[],
  now: readonly SeenBoard[],
  status: Status | undefined,
): Verdict {
  const told = status?.health.conditions.find(({ type }) => type === "SecondJudge");
  if (told) return fail(told.message, told.hint);
  for (const seen of now) {
    const first = before.find(({ board }) => board === seen.board);
    const note = first && otherJudge(first, seen);
    if (note) return fail(`${note.manager} wrote ${note.wrote} of ${seen.board} just now`, flagsAgainst(note.manager));
  }
  const old = now.flatMap(({ board, notes }) => notes.map((note) => ({ ...note, board })));
  const [note] = old;
  if (note === undefined) return ok(`nobody else judges the ${now.length} boards that were looked at`);
  return warn(
    `${note.manager} wrote ${wrote(old)}; whether before this site did or beside it cannot be told at one look`,
    `If it still judges boards: ${flagsAgainst(note.manager)}. The leader's status says SecondJudge once it sees another write.`,
  );
}

const wrote = (notes: readonly (JudgeNote & { readonly board: string })[]): string =>
  `${notes
    .slice(0, 3)
    .map((note) => `${note.wrote} of ${note.board}`)
    .join(", ")}${notes.length > 3 ? ", …" : ""}`;
