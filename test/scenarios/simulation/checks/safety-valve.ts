import type { Millis } from "../../../../agent/base/clock.ts";
import type { History, NodeState } from "../history.ts";
import { tolerances } from "../pod-keeper.ts";
import { type Act, actText, isTainted } from "./acts.ts";
import { isConfirmed } from "./confirmed.ts";

/** An hour by the fastest clock. */
const hour: Millis = 3_600_000 * 0.99;
/** A leader may not know yet what another one did, or what it did itself without an answer. */
const lag: Millis = 90_000;
/** How old the copy of a board may be that takes the place of a deleted Lease, by the slowest clock. */
const unread: Millis = 190_000;

/**
 * Under policy `evidence`, across all leaders: a board is tainted or a pod is evicted only if fewer acts than permitted
 * were done within the hour before, and a board only if fewer than half of the boards are tainted. An operator may
 * release both limits.
 */
export function checkSafetyValve(history: History, acts: readonly Act[]): readonly string[] {
  const { policy } = history.setting;
  if (policy !== "evidence") return [];
  const done = acts.filter((act, index) => isHarm(act) && act.isDone && !isRepeated(act, acts.slice(0, index)));
  const bound = done.filter((act) => !isReleased(act, history));
  return [...tooMany(bound, done, history), ...tooManyBoards(bound, done, history)];
}

/** A pod that no kubelet has taken up runs nowhere: its deletion is no harm, and neither limited nor counted. */
const isHarm = ({ is, isOnRunning }: Act): boolean => is === "taint" || (is === "evict" && isOnRunning);

/** The same act was done before, and its answer was lost: it counts once. */
const isRepeated = (act: Act, before: readonly Act[]): boolean =>
  before.some((other) => other.is === act.is && other.uid === act.uid && other.isDone && !other.isAnswered);

const isReleased = ({ sentAt }: Act, { releases }: History): boolean =>
  releases.some(({ from, until }) => sentAt >= from && sentAt <= until);

function limitOf({ setting: { boards, maxHarm } }: History): number {
  const pods = boards.length * Object.keys(tolerances).length;
  return maxHarm ?? Math.max(10, Math.floor(0.2 * pods));
}

function tooMany(bound: readonly Act[], done: readonly Act[], history: History): readonly string[] {
  const limit = limitOf(history);
  return bound.flatMap((act) => {
    const earlier = done.filter(({ order, sentAt }) => order <= act.order && act.sentAt - sentAt < hour);
    const { length } = earlier.filter((other) => isKnown(other, act, history));
    return length > limit ? [`valve: ${actText(act)} is number ${length} of the hour, and ${limit} are permitted`] : [];
  });
}

/**
 * Whether the leader that acts must know of an earlier act. A restore may undo what another board did and counted, and a
 * board that was off need not notice it. After a deletion of the Lease a board goes on with what it read last.
 */
function isKnown(earlier: Act, { process, sentAt }: Act, { restores, leases, processes }: History): boolean {
  const isOwn = processes.get(earlier.process)?.board === processes.get(process)?.board;
  const deletions = leases.flatMap(({ at, lease }) => (lease === undefined ? at : []));
  const forgetting = [...restores, ...deletions.filter((at) => at - earlier.sentAt < unread)];
  return isOwn || !forgetting.some((at) => at > earlier.sentAt && at < sentAt);
}

const tooManyBoards = (bound: readonly Act[], done: readonly Act[], history: History): readonly string[] => {
  const {
    nodes,
    setting: { boards },
  } = history;
  return bound
    .filter(({ is }) => is === "taint")
    .flatMap((act) => {
      const known = boards.filter(({ name }) => stateAt(nodes.get(name), act.sentAt) !== undefined);
      const limit = Math.max(1, Math.floor(known.length / 2));
      // A board that an operator confirmed dead does not count.
      const tainted = known.filter(
        ({ name }) =>
          name !== act.board &&
          !isConfirmed(history, { board: name, sentAt: act.sentAt }) &&
          isKnownTainted(name, act, done, nodes.get(name)),
      );
      if (tainted.length < limit) return [];
      return [`valve: ${actText(act)}, while ${tainted.map(({ name }) => name).join(", ")} are tainted`];
    });
};

/** Whether the leader that does the act must know that this board is tainted and silent. */
function isKnownTainted(
  board: string,
  { process, sentAt }: Act,
  done: readonly Act[],
  states: readonly NodeState[] = [],
): boolean {
  const before = states.filter(({ at }) => at <= sentAt);
  const isLost = ({ ready, taints }: NodeState): boolean => ready === "Unknown" && isTainted(taints);
  const last = before.at(-1);
  if (last === undefined || !isLost(last)) return false;
  const since = before.slice(before.findLastIndex((state) => !isLost(state)) + 1)[0]?.at ?? sentAt;
  if (sentAt - since >= lag) return true;
  return done.some((act) => act.board === board && act.process === process && act.isAnswered && act.sentAt <= since);
}

const stateAt = (states: readonly NodeState[] | undefined, at: Millis): NodeState | undefined =>
  states?.findLast((state) => state.at <= at);
