import { memberOf } from "../base/json.ts";
import type { Node } from "./core.ts";
import { taintKeys, taintsOf } from "./taints.ts";

/**
 * An entry of a Node's managedFields: the API server's record that another program wrote a field by which boards are
 * judged. That program may be a second node lifecycle controller.
 */
export interface JudgeNote {
  /** The program, as in managedFields: "kube-controller-manager". */
  readonly manager: string;
  readonly wrote: "taints" | "Ready";
  /** Time of the write by the server's clock. Compared for change only, never read as time. */
  readonly stamp: string;
}

/** The traces of a second judge on one Node at one moment. */
export interface JudgeReading {
  readonly notes: readonly JudgeNote[];
  /** The value of `judgedTaints`. */
  readonly taints: string;
}

const ours = "siteward";

/**
 * Managers whose writes of Ready prove nothing: kubelets write Ready, and in some distributions the kubelet and the
 * controller manager have the same name.
 */
const readyWriters: readonly string[] = ["kubelet", "k3s", "k3s-server", "k3s-agent", "kubelite"];

/**
 * Managers whose writes of taints are evidence. Many other programs write taints too, but these programs contain a node
 * lifecycle controller.
 */
const taintJudges: readonly string[] = ["kube-controller-manager", "k3s", "k3s-server", "kubelite"];

/**
 * The notes in a Node's managedFields, which name the last manager that changed each field. `managedFields` is
 * unchecked input whose format the API server defines; entries of an unknown form are ignored.
 */
export function judgeNotes(managedFields: unknown): readonly JudgeNote[] {
  if (!Array.isArray(managedFields)) return [];
  return managedFields.flatMap((entry: unknown): readonly JudgeNote[] => {
    const manager = memberOf(entry, "manager");
    if (typeof manager !== "string" || manager === ours) return [];
    const fields = memberOf(entry, "fieldsV1");
    const stamp = String(memberOf(entry, "time") ?? "");
    const found: JudgeNote[] = [];
    if (taintJudges.includes(manager) && memberOf(memberOf(fields, "f:spec"), "f:taints") !== undefined)
      found.push({ manager, wrote: "taints", stamp });
    const ready = memberOf(memberOf(memberOf(fields, "f:status"), "f:conditions"), 'k:{"type":"Ready"}');
    if (!readyWriters.includes(manager) && memberOf(ready, "f:status") !== undefined)
      found.push({ manager, wrote: "Ready", stamp });
    return found;
  });
}

const judgedKeys: readonly string[] = Object.values(taintKeys);

/** The Node's taints that a node lifecycle controller owns, with the times at which they were added, as one string. */
export const judgedTaints = (node: Node): string =>
  taintsOf(node)
    .filter(({ key }) => judgedKeys.includes(key))
    .map(({ key, effect, timeAdded }) => `${key}:${effect}@${timeAdded ?? ""}`)
    .join(" ");

/**
 * Returns the note of a write by another judge between two readings of one Node. A new note on taints alone proves
 * nothing, because its time changes whenever that manager writes any field. So it is evidence only if `judgedTaints`
 * changed as well.
 */
export function otherJudge(before: JudgeReading, now: JudgeReading): JudgeNote | undefined {
  const isNew = ({ manager, wrote, stamp }: JudgeNote): boolean =>
    !before.notes.some((one) => one.manager === manager && one.wrote === wrote && one.stamp === stamp);
  return now.notes.find((note) => isNew(note) && (note.wrote === "Ready" || before.taints !== now.taints));
}
