import type { Claim } from "./scenario.ts";
import type { BoardPicture, PodPicture, SitePicture } from "./site-picture.ts";

/** What an expectation compares with: the site as it was when something was last done to it. */
export interface Before {
  readonly picture: SitePicture;
  /** The boards to which it was done. */
  readonly hit: readonly string[];
}

/** `undefined`: it holds. Otherwise what is the case instead, in a few words. */
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
      return podObjection(of, picture, before, (now) => now !== undefined && !now.ending, "gone or leaving");
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

/** Names of boards and zones, "all", "leader" and "hit", as boards; each once. */
export function boardsNamed(names: readonly string[], picture: SitePicture, hit: readonly string[]): readonly string[] {
  const found = names.flatMap((name) => {
    if (name === "leader") return picture.leader === undefined ? [] : [picture.leader.board];
    if (name === "hit") return hit;
    return picture.boards.filter((board) => name === "all" || board.name === name || board.zone === name).map(nameOf);
  });
  return [...new Set(found)];
}

const nameOf = ({ name }: { readonly name: string }): string => name;

/** Only what the site itself puts on a lost board makes pods leave. */
const isTainted = ({ taints }: BoardPicture): boolean =>
  taints.includes("unreachable:NoExecute") || taints.includes("not-ready:NoExecute");

function leaderObjection(wanted: string | undefined, { leader }: SitePicture, before: Before): string | undefined {
  const found = leader === undefined ? "nobody leads" : `${leader.board} leads`;
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
  return leader?.term === number ? undefined : leader === undefined ? "nobody leads" : `the term is ${leader.term}`;
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
  if (names.length === 0) return "no board is meant";
  return wrong.length === 0 ? undefined : `${wrong.join(", ")} ${otherwise}`;
}

/** A daemon's pod stays on its board whatever becomes of it. */
const withoutDaemons = ({ picture, hit }: Before): Before => ({
  hit,
  picture: { ...picture, pods: picture.pods.filter(({ daemon }) => daemon === undefined) },
});

/** About the pods that are there now, of workloads that have a service. Where it leads nowhere there may be none. */
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
  if (wanted && meant.length === 0) return "no pod of a service is there";
  const wrong = meant.filter(({ served }) => served !== wanted).map(({ key }) => key);
  return wrong.length === 0 ? undefined : `${wrong.join(", ")} ${wanted ? "not served" : "served"}`;
}

function rolledObjection(of: readonly string[], { daemons }: SitePicture): string | undefined {
  const wrong = of.filter((name) => !daemons.some((daemon) => daemon.name === name && daemon.rolled));
  return wrong.length === 0 ? undefined : `${wrong.join(", ")} not rolled out`;
}

/** About the pods that were there before, by uid: one that came back under the same name is another pod. */
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
  if (meant.length === 0) return "no pod was there";
  const now = new Map(picture.pods.map((pod) => [pod.uid, pod]));
  const wrong = meant.filter(({ uid }) => !holds(now.get(uid))).map(({ key }) => key);
  return wrong.length === 0 ? undefined : `${wrong.join(", ")} ${otherwise}`;
}
