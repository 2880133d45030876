import type { BoardPicture, PodPicture, SitePicture } from "../view/site-picture.ts";
import type { Claim } from "./scenario.ts";

/** Baseline of an expectation: the site at the last scenario action. */
export interface Before {
  readonly picture: SitePicture;
  /** The boards that the action affected. */
  readonly hit: readonly string[];
}

/**
 * Compares a claim with the site. Returns `undefined` if the claim holds, otherwise the actual state in a few words.
 */
export function objectionTo(
  claim: Claim,
  of: readonly string[],
  picture: SitePicture,
  before: Before,
): string | undefined {
  switch (claim) {
    case "leader":
      return leaderObjection(of[0], picture, before);
    case "term":
      return termObjection(of[0], picture, before);
    case "ready":
      return boardObjection(of, picture, before, ({ ready }) => ready === "True", "not Ready");
    case "not-ready":
      return boardObjection(of, picture, before, ({ ready }) => ready !== "True", "Ready");
    case "tainted":
      return boardObjection(of, picture, before, isTainted, "not tainted NoExecute");
    case "not-tainted":
      return boardObjection(of, picture, before, (board) => !isTainted(board), "tainted NoExecute");
    case "evicted":
      return podObjection(of, picture, withoutDaemons(before), (now) => now === undefined || now.ending, "still there");
    case "kept":
      return podObjection(of, picture, before, (now) => now !== undefined && !now.ending, "deleted or terminating");
    case "served":
      return servedObjection(of, picture, before, true);
    case "not-served":
      return servedObjection(of, picture, before, false);
    case "rolled":
      return rolledObjection(of, picture);
    default:
      return claim satisfies never;
  }
}

/** Resolves names of boards and zones, "all", "leader" and "hit" to boards, without repetition. */
export function boardsNamed(names: readonly string[], picture: SitePicture, hit: readonly string[]): readonly string[] {
  const found = names.flatMap((name) => {
    if (name === "leader") return picture.leader === undefined ? [] : [picture.leader.board];
    if (name === "hit") return hit;
    return picture.boards.filter((board) => name === "all" || board.name === name || board.zone === name).map(nameOf);
  });
  return [...new Set(found)];
}

const nameOf = ({ name }: { readonly name: string }): string => name;

/**
 * Whether the board has a taint that evicts pods. Of all taints, only those that the site itself sets on a lost board
 * do so.
 */
const isTainted = ({ taints }: BoardPicture): boolean =>
  taints.includes("unreachable:NoExecute") || taints.includes("not-ready:NoExecute");

function leaderObjection(wanted: string | undefined, { leader }: SitePicture, before: Before): string | undefined {
  const found = leader === undefined ? "no leader" : `${leader.board} leads`;
  const known = before.picture.leader?.board;
  const holds =
    wanted === "none"
      ? leader === undefined
      : leader !== undefined &&
        (wanted === "any" ||
          (wanted === "same" && leader.board === known) ||
          (wanted === "changed" && leader.board !== known) ||
          leader.board === wanted);
  return holds ? undefined : found;
}

function termObjection(wanted: string | undefined, { leader }: SitePicture, before: Before): string | undefined {
  const known = before.picture.leader?.term ?? 0;
  const number = wanted === "same" ? known : wanted === "next" ? known + 1 : Number(wanted);
  return leader?.term === number ? undefined : leader === undefined ? "no leader" : `the term is ${leader.term}`;
}

function boardObjection(
  of: readonly string[],
  picture: SitePicture,
  before: Before,
  holds: (board: BoardPicture) => boolean,
  otherwise: string,
): string | undefined {
  const names = boardsNamed(of, picture, before.hit);
  const wrong = picture.boards.filter((board) => names.includes(board.name) && !holds(board)).map(nameOf);
  if (names.length === 0) return "no board matches";
  return wrong.length === 0 ? undefined : `${wrong.join(", ")} ${otherwise}`;
}

/** The baseline without daemon pods, which remain on their board regardless of what happens to it. */
const withoutDaemons = ({ picture, hit }: Before): Before => ({
  hit,
  picture: { ...picture, pods: picture.pods.filter(({ daemon }) => daemon === undefined) },
});

/**
 * The actual state if it contradicts "served" or "not served"; otherwise undefined. The claim concerns the current pods
 * of workloads with a service; if no endpoint is expected, the workloads need not have any such pods.
 */
function servedObjection(
  of: readonly string[],
  picture: SitePicture,
  before: Before,
  wanted: boolean,
): string | undefined {
  const boards = boardsNamed(of, picture, before.hit);
  const services = picture.services.map(nameOf);
  const meant = picture.pods.filter(
    ({ board, workload, ending }) =>
      !ending && board !== undefined && boards.includes(board) && workload !== undefined && services.includes(workload),
  );
  if (wanted && meant.length === 0) return "no pod of a service exists";
  const wrong = meant.filter(({ served }) => served !== wanted).map(({ key }) => key);
  return wrong.length === 0 ? undefined : `${wrong.join(", ")} ${wanted ? "not served" : "served"}`;
}

function rolledObjection(of: readonly string[], { daemons }: SitePicture): string | undefined {
  const wrong = of.filter((name) => !daemons.some((daemon) => daemon.name === name && daemon.rolled));
  return wrong.length === 0 ? undefined : `${wrong.join(", ")} not rolled out`;
}

/**
 * The objection to a claim about the pods of the baseline. They are found by uid, because a recreated pod with the same
 * name is a different pod.
 */
function podObjection(
  of: readonly string[],
  picture: SitePicture,
  before: Before,
  holds: (now: PodPicture | undefined) => boolean,
  otherwise: string,
): string | undefined {
  const boards = boardsNamed(of, before.picture, before.hit);
  const meant = before.picture.pods.filter(
    ({ ending, board, workload }) =>
      !ending && ((board !== undefined && boards.includes(board)) || (workload !== undefined && of.includes(workload))),
  );
  if (meant.length === 0) return "there were no pods";
  const now = new Map(picture.pods.map((pod) => [pod.uid, pod]));
  const wrong = meant.filter(({ uid }) => !holds(now.get(uid))).map(({ key }) => key);
  return wrong.length === 0 ? undefined : `${wrong.join(", ")} ${otherwise}`;
}
