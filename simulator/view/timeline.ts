import { podsOf } from "./live-table.ts";
import type { BoardPicture, PodPicture, SitePicture } from "./site-picture.ts";

/** The changes since the last picture, one sentence each: "pi-2 NotReady". */
export function changesBetween(before: SitePicture | undefined, after: SitePicture): readonly string[] {
  const { apiUp } = after;
  return [
    ...((before?.apiUp ?? true) === apiUp ? [] : [`the API server is ${apiUp ? "back" : "down"}`]),
    ...leaderChange(before?.leader, after.leader),
    ...after.boards.flatMap((board) =>
      boardChanges(
        before?.boards.find(({ name }) => name === board.name),
        board,
      ),
    ),
    ...after.zones.flatMap(({ name, state }) => {
      const known = before?.zones.find((zone) => zone.name === name)?.state;
      return state !== undefined && known !== undefined && state !== known ? [`${name} ${state}`] : [];
    }),
    ...podChanges(before?.pods ?? [], after.pods),
    ...after.services.flatMap(({ name, ready }) => {
      const known = before?.services.find((service) => service.name === name)?.ready ?? 0;
      return ready === known ? [] : [`service ${name} leads to ${podsOf(ready)}`];
    }),
    ...after.daemons.flatMap(({ name, rolled }) => {
      const known = before?.daemons.find((daemon) => daemon.name === name)?.rolled ?? false;
      return rolled === known
        ? []
        : [`daemon ${name} ${rolled ? "is up to date on every board" : "is not up to date"}`];
    }),
  ];
}

function leaderChange(before: SitePicture["leader"], after: SitePicture["leader"]): string[] {
  if (before?.board === after?.board && before?.term === after?.term) return [];
  return [after === undefined ? "no leader" : `${after.board} leads, term ${after.term}`];
}

function boardChanges(before: BoardPicture | undefined, after: BoardPicture): string[] {
  const { name } = after;
  const lines: string[] = [];
  if (before !== undefined && before.power !== after.power) lines.push(`${name} power ${after.power}`);
  if ((before?.link ?? "up") !== after.link) lines.push(`${name} link ${after.link}`);
  if (before?.agent !== after.agent && (after.agent === "failed" || after.agent === "suspended")) {
    lines.push(`${name} agent ${after.agent}`);
  }
  const was = before === undefined ? "not registered" : readiness(before);
  if (was !== readiness(after)) lines.push(`${name} ${readiness(after)}`);
  if (before !== undefined && before.cordoned !== after.cordoned) {
    lines.push(`${name} ${after.cordoned ? "cordoned" : "uncordoned"}`);
  }
  const known = before?.taints ?? [];
  for (const taint of after.taints) if (!known.includes(taint)) lines.push(`${name} tainted ${taint}`);
  for (const taint of known) if (!after.taints.includes(taint)) lines.push(`${name} no longer tainted ${taint}`);
  return lines;
}

function readiness({ ready }: BoardPicture): string {
  if (ready === "absent") return "not registered";
  return ready === "True" ? "Ready" : "NotReady";
}

function podChanges(before: readonly PodPicture[], after: readonly PodPicture[]): string[] {
  const known = new Map(before.map((pod) => [pod.uid, pod]));
  const lines: string[] = [];
  for (const pod of after) {
    const was = known.get(pod.uid);
    known.delete(pod.uid);
    const place = pod.board === undefined ? "" : ` on ${pod.board}`;
    if (pod.ending) {
      if (!was?.ending) lines.push(`${pod.key} terminating${pod.board === undefined ? "" : ` on ${pod.board}`}`);
    } else if (shown(pod) !== undefined && shown(was) !== shown(pod)) lines.push(`${pod.key} ${shown(pod)}${place}`);
  }
  for (const { key, board } of known.values())
    lines.push(`${key} deleted${board === undefined ? "" : ` from ${board}`}`);
  return lines;
}

/** A pod that is still starting is not reported. */
function shown(pod: PodPicture | undefined): string | undefined {
  if (pod === undefined) return undefined;
  if (pod.phase === "Pending") return pod.unplaced ? "fits on no board" : undefined;
  if (pod.phase !== "Running") return pod.phase;
  return pod.ready ? "Running" : "Running, not ready";
}
