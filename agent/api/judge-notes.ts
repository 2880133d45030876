import { memberOf } from "../base/json.ts";
import type { Node } from "./core.ts";
import { taintKeys, taintsOf } from "./taints.ts";

/** The API server's record that another program wrote fields that only the judge of boards writes. */
export interface JudgeNote {
  /** "kube-controller-manager": the part of a user agent before the slash. */
  readonly manager: string;
  readonly wrote: "taints" | "Ready";
  /** When, by the server's clock. Compared for change, never read as time. */
  readonly stamp: string;
}

/** One reading of a board: the notes, and the judge's taints. */
export interface JudgeSight {
  readonly notes: readonly JudgeNote[];
  readonly taints: string;
}

const ours = "siteward";

/** Kubelets write Ready themselves, and in these programs kubelet and controller manager share one name. */
const withKubelet: readonly string[] = ["kubelet", "k3s", "k3s-server", "k3s-agent", "kubelite"];

/** Many programs write taints; of these, a part judges boards. */
const judges: readonly string[] = ["kube-controller-manager", "k3s", "k3s-server", "kubelite"];

/**
 * The other judges, by managedFields, which names for each field the last manager that changed it. Entries are read as
 * they come: their format belongs to the API server, and unknown ones are ignored.
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

/** The taints of a board that a judge changes, as one text, including their times. */
export const judgedTaints = (node: Node): string =>
  taintsOf(node)
    .filter(({ key }) => judgedKeys.includes(key))
    .map(({ key, effect, timeAdded }) => `${key}:${effect}@${timeAdded ?? ""}`)
    .join(" ");

/**
 * Returns the note of another judge's write between two readings of this board. A note on taints covers all that its
 * manager writes beside them, so it counts only if the judge's taints changed.
 */
export function otherJudge(before: JudgeSight, now: JudgeSight): JudgeNote | undefined {
  const isNew = ({ manager, wrote, stamp }: JudgeNote): boolean =>
    !before.notes.some((one) => one.manager === manager && one.wrote === wrote && one.stamp === stamp);
  return now.notes.find((note) => isNew(note) && (note.wrote === "Ready" || before.taints !== now.taints));
}
