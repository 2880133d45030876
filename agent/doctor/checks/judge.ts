import type { Node } from "../../api/core.ts";
import { type JudgeNote, type JudgeReading, judgedTaints, judgeNotes, otherJudge } from "../../api/judge-notes.ts";
import { parseObject } from "../../api/parse.ts";
import { nodes } from "../../api/resources.ts";
import { type Millis, sleep } from "../../base/clock.ts";
import { memberOf } from "../../base/json.ts";
import type { Config } from "../../config/settings.ts";
import { isWholeShadow } from "../../config/shadow-mode.ts";
import { flagsAgainst } from "../../status/judge-problems.ts";
import type { Status } from "../../status/schema.ts";
import type { ApiProbe } from "../api-probe.ts";
import { type CheckResult, fail, info, ok, skip, unreached, warn } from "../check-result.ts";
import { configOf, type Patient } from "../patient.ts";

/** Number of boards to check. A few are enough, because another judge would write to all boards. */
const maxBoards = 50;
/** Time between the two readings that are compared. */
const between: Millis = 5_000;

/** The Lease that every kube-controller-manager with leader election renews. */
const managerLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";

/** The traces of judges on one board's Node. */
export interface SeenBoard extends JudgeReading {
  readonly board: string;
}

/** Whether a kube-controller-manager runs: its Lease changed between the readings. "unknown" if it cannot be read. */
export type ManagerActivity = "runs" | "none" | "unknown";

/** Checks whether kube-controller-manager or another controller still judges boards of this site. */
export async function nodeJudge(patient: Patient): Promise<CheckResult> {
  const { api, ambient, signal, status } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  const { nodeLifecycle, taintEviction, podGC } = config.controllers;
  if (isWholeShadow(config))
    return ok(
      "in shadow mode this agent writes nothing, so another program should judge the boards: kube-controller-manager, with its node-lifecycle-controller and taint-eviction-controller",
    );
  if (nodeLifecycle.mode === "shadow")
    return info(
      `controllers.nodeLifecycle.mode is shadow, so another program has to judge the boards, but taintEviction is ${taintEviction.mode} and podGC ${podGC.mode}`,
      "Each kind of work must be done by exactly one program: a controller that acts here must be turned off in kube-controller-manager, and one in shadow mode must run there.",
    );
  if (nodeLifecycle.mode !== "act")
    return skip("controllers.nodeLifecycle.mode is not act: another program judges the boards");
  try {
    const before = await readBoards(api, config);
    if (typeof before === "string") return skip(before);
    const lease = await readManagerLease(api);
    await sleep(ambient.clock, between, signal);
    const now = await readBoards(api, config);
    if (typeof now === "string") return skip(now);
    const manager = activityOf(lease, await readManagerLease(api));
    return checkWriters({ before, now, manager }, status?.isFresh ? status.status : undefined);
  } catch {
    return unreached;
  }
}

async function readBoards(api: ApiProbe, { site }: Config): Promise<readonly SeenBoard[] | string> {
  const query = new URLSearchParams({ limit: String(maxBoards), labelSelector: site.nodeSelector ?? "" });
  const { status, body } = await api.ask("GET", `/api/v1/nodes?${query}`);
  if (status !== 200 || !Array.isArray(body?.items)) return `the Nodes cannot be listed (HTTP ${status})`;
  return body.items.flatMap((item: unknown): readonly SeenBoard[] => {
    const parsed = parseObject<Node>(item, nodes);
    if (!parsed.ok) return [];
    const { metadata } = parsed.object;
    return [{ board: metadata.name, notes: judgeNotes(metadata.managedFields), taints: judgedTaints(parsed.object) }];
  });
}

/** The resourceVersion of kube-controller-manager's Lease. */
async function readManagerLease(api: ApiProbe): Promise<string | "absent" | "unknown"> {
  const { status, body } = await api.ask("GET", managerLease);
  if (status === 404) return "absent";
  const version = memberOf(body?.metadata, "resourceVersion");
  return status === 200 && typeof version === "string" ? version : "unknown";
}

function activityOf(before: string, now: string): ManagerActivity {
  if (now === "unknown" || before === "unknown") return "unknown";
  return now === "absent" || now === before ? "none" : "runs";
}

/**
 * An entry in managedFields shows a past write; an entry added since `before` shows that a judge is writing now. A
 * judge writes only when a board falls silent or returns, so the absence of traces does not prove that there is none.
 */
export function checkWriters(
  {
    before,
    now,
    manager,
  }: {
    readonly before: readonly SeenBoard[];
    readonly now: readonly SeenBoard[];
    readonly manager: ManagerActivity;
  },
  status: Status | undefined,
): CheckResult {
  const reported = status?.health.conditions.find(({ type }) => type === "SecondJudge");
  if (reported) return fail(reported.message, reported.hint);
  for (const seen of now) {
    const first = before.find(({ board }) => board === seen.board);
    const note = first && otherJudge(first, seen);
    if (note) return fail(`${note.manager} wrote ${note.wrote} of ${seen.board} just now`, flagsAgainst(note.manager));
  }
  const old = now.flatMap(({ board, notes }) => notes.map((note) => ({ ...note, board })));
  const [note] = old;
  if (note === undefined) return withoutTrace(now.length, manager);
  return warn(
    `${note.manager} wrote ${wrote(old)}, perhaps before this site took over; this check cannot determine when`,
    `If that program still judges boards: ${flagsAgainst(note.manager)}. The leader's status shows SecondJudge after its next write.`,
  );
}

function withoutTrace(boards: number, manager: ManagerActivity): CheckResult {
  const none = `no other controller has left a trace on the ${boards} boards checked`;
  if (manager === "none") return ok(`${none}, and no kube-controller-manager is renewing its Lease`);
  const reason =
    manager === "runs" ? "a kube-controller-manager is running" : "kube-controller-manager's Lease cannot be read";
  return info(
    `${none}, but ${reason}: it would write only when a board falls silent or returns`,
    `Make sure that kube-controller-manager's --controllers contains -node-lifecycle-controller and -taint-eviction-controller. To prove it, stop the kubelet of a cordoned board for a minute and run this check again.`,
  );
}

const wrote = (notes: readonly (JudgeNote & { readonly board: string })[]): string =>
  `${notes
    .slice(0, 3)
    .map((note) => `${note.wrote} of ${note.board}`)
    .join(", ")}${notes.length > 3 ? ", …" : ""}`;
