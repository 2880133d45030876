import { memberOf } from "../base/json.ts";
import type { Node } from "./core.ts";
import { taintKeys, taintsOf } from "./taints.ts";

/** The API server's note that somebody wrote what only the judge of boards writes. */
export interface JudgeNote {
  /** "kube-controller-manager": what is before the slash of a user agent. */
  readonly manager: string;
  readonly wrote: "taints" | "Ready";
  /** When, by the server's clock. Compared for change, never read as time. */
  readonly stamp: string;
}

/** One board at one look: the notes, and the taints that a judge puts there. */
export interface JudgeSight {
  readonly notes: readonly JudgeNote[];
  readonly taints: string;
}

const ours = "siteward";

/** Kubelets say themselves whether they are ready, and in these programs a kubelet and a controller manager have one name. */
const withKubelet: readonly string[] = ["kubelet", "k3s", "k3s-server", "k3s-agent", "kubelite"];

/** Taints are written by many hands. Of these programs a part judges boards. */
const judges: readonly string[] = ["kube-controller-manager", "k3s", "k3s-server", "kubelite"];

/**
 * Who else judged, by managedFields, which name for each field the last one who changed it. They are read as they come:
 * their form belongs to the API server, and what is not understood says nothing.
 */
export function judgeNotes(managedFields: unknown): readonly JudgeNote[] {
  if (!Array.isArray(managedFields)) return [];
  return managedFields.flatMap((entry: unknown): readonly JudgeNote[] => {
    const manager = memberOf(entry, "manager");
    if (typeof manager !== "string" || manager === ours) return [];
    const fields = memberOf(entry, "fieldsV1");
    const stamp = String(memberOf(entry, "time") ?? "");
    const found: JudgeNote[] = [];
    if (judges.includes(manager) && memberOf(memberOf(fields, "f:spec"), "f:taints") !== undefined)
      found.push({ manager, wrote: "taints", stamp });
    const ready = memberOf(memberOf(memberOf(fields, "f:status"), "f:conditions"), 'k:{"type":"Ready"}');
    if (!withKubelet.includes(manager) && memberOf(ready, "f:status") !== undefined)
      found.push({ manager, wrote: "Ready", stamp });
    return found;
  });
}

const judgedKeys: readonly string[] = Object.values(taintKeys);

/** What a judge changes of a board's taints, in one text: with the times that the writers gave them. */
export const judgedTaints = (node: Node): string =>
  taintsOf(node)
    .filter(({ key }) => judgedKeys.includes(key))
    .map(({ key, effect, timeAdded }) => `${key}:${effect}@${timeAdded ?? ""}`)
    .join(" ");

/**
 * Whether somebody else judged this board between two looks. A note of taints stands for all that its manager writes beside
 * them, so it counts only where the taints are not what they were.
 */
export function otherJudge(before: JudgeSight, now: JudgeSight): JudgeNote | undefined {
  const isNew = ({ manager, wrote, stamp }: JudgeNote): boolean =>
    !before.notes.some((one) => one.manager === manager && one.wrote === wrote && one.stamp === stamp);
  return now.notes.find((note) => isNew(note) && (note.wrote === "Ready" || before.taints !== now.taints));
}
