import { elapsed, type Instant, isAfter, type Millis, shifted } from "../base/clock.ts";
import { calibratedFor } from "../judgement/lan-silence.ts";
import { maxAddresses } from "./announcement.ts";
import { isDirect } from "./lan.ts";

/** The part of a signed answer that shows how its board is reached. */
export interface HeardAnswer {
  /** The key that signed it. */
  readonly key: string;
  /** The path by which it came. */
  readonly path: string;
  /** When the question was sent. */
  readonly at: Instant;
  /** The IPv4 networks that this machine had there, as their broadcast addresses. */
  readonly networks: readonly string[];
}

/** The last answer by a path. */
interface LastAnswer extends HeardAnswer {
  /** When the question was sent that brought the first answer by it. */
  readonly first: Instant;
}

/** The known facts about reaching one board. */
interface Reach {
  /** The last answer by each path, the newest at the end, all with the same key. */
  heard: readonly LastAnswer[];
  /** When to ask it again merely to learn whether it answers. */
  next: Instant | undefined;
  /** Questions of that kind since the last answer, and when the first of them was sent. */
  tries: number;
  triedSince: Instant | undefined;
  /** The board announces no address, so it cannot be asked. */
  isMute: boolean;
}

/** The number of boards that this board can hear on the LAN, and the names of the others. */
export interface LanCensus {
  /** Number of boards that answered within the last day. */
  readonly heard: number;
  /** Boards that were asked, and did not answer within the last day. */
  readonly unheard: readonly string[];
  /** Boards that announce no address. */
  readonly mute: readonly string[];
}

/** A path by which several boards answered before, and on which none of them answers any more. */
export interface QuietPath {
  readonly path: string;
  readonly since: Instant;
}

const askEvery: Millis = 3_600_000;
/** After so many questions, over half a minute, without an answer a board is quiet. */
const triesOfQuiet = 4;
/** If this many boards are quiet at the same time, the fault is more likely to be on this side. */
export const severalBoards = 2;
/**
 * How much older than a board's newest answer its answer by another path may be. It is asked on that path once an hour.
 */
const pathsLast: Millis = 3 * askEvery;
/**
 * The pause after the first question: a datagram may be lost, or the board may be starting. The pause doubles with each
 * question, up to an hour.
 */
const firstPause: Millis = 5000;
/** Maximum pause after a question that could not be sent. Short, to notice soon when questions can be sent again. */
const unsentPause: Millis = 60_000;

/** Maximum number of paths kept for a board. It announces no more addresses than that. */
const maxPaths = maxAddresses;

/**
 * Maximum number of boards that are remembered, the size of the largest site. The board asked longest ago is forgotten
 * first.
 */
const maxBoards = 5000;

/**
 * The boards that this board can hear on the LAN: their silence means something. A board that never answered, because
 * its port is closed or the LAN separates the two, is not one of them.
 */
export class Calibration {
  readonly #reaches = new Map<string, Reach>();

  /** Called when the board answered, regardless of why it was asked. */
  heard(board: string, answer: HeardAnswer): void {
    const reach = this.#reachOf(board);
    const { key, path, at } = answer;
    const known = reach.heard.filter((one) => one.key === key && elapsed(one.at, at) <= pathsLast);
    const first = known.find((one) => one.path === path)?.first ?? at;
    reach.heard = [...known.filter((one) => one.path !== path).slice(1 - maxPaths), { ...answer, first }];
    reach.tries = 0;
    reach.triedSince = undefined;
    reach.isMute = false;
    reach.next = shifted(at, askEvery);
  }

  /** The paths by which the board answers; empty if it did not answer within the last day. */
  pathsOf(board: string, now: Instant): readonly string[] {
    const reach = this.#reaches.get(board);
    return reach && isHeard(reach, now) ? reach.heard.map(({ path }) => path) : [];
  }

  /**
   * Whether the board answers in a network of this machine in which it was first heard after its last answer by this
   * path.
   */
  hasMoved(board: string, from: string): boolean {
    const heard = this.#reaches.get(board)?.heard ?? [];
    const last = heard.find(({ path }) => path === from);
    return last !== undefined && heard.some(({ path, first }) => isDirect(path) && isAfter(first, last.at));
  }

  /**
   * Whether this machine still has, on each path by which the board answers, one of the IPv4 networks that it had then.
   * From another network, a board whose address was not changed receives questions, but its answers go elsewhere.
   */
  isWhereHeard(board: string, networksOn: (path: string) => readonly string[]): boolean {
    const heard = this.#reaches.get(board)?.heard ?? [];
    return heard.every(
      ({ path, networks }) => networks.length === 0 || networksOn(path).some((network) => networks.includes(network)),
    );
  }

  /** The paths by which any board answers. */
  knownPaths(now: Instant): ReadonlySet<string> {
    return new Set([...this.#reaches.keys()].flatMap((board) => this.pathsOf(board, now)));
  }

  /** Whether the board answered within the last day, with the key that its Node has now. */
  covers(board: string, key: string, now: Instant): boolean {
    return this.wasHeard(board, now) && this.#reaches.get(board)?.heard.at(-1)?.key === key;
  }

  /** Whether the board answered within the last day, with whatever key. */
  wasHeard(board: string, now: Instant): boolean {
    return isHeard(this.#reaches.get(board), now);
  }

  /** Whether any board answered within the last day. */
  hasAny(now: Instant): boolean {
    for (const reach of this.#reaches.values()) if (isHeard(reach, now)) return true;
    return false;
  }

  /** Whether it is time to ask the board. */
  isDue(board: string, now: Instant): boolean {
    const next = this.#reaches.get(board)?.next;
    return next === undefined || !isAfter(next, now);
  }

  /** The board is being asked, or cannot be asked because it announces no address. */
  tried(board: string, now: Instant, { isMute = false } = {}): void {
    const reach = this.#reachOf(board);
    reach.isMute = isMute;
    reach.next = shifted(now, Math.min(askEvery, firstPause * 2 ** reach.tries));
    if (reach.tries === 0) reach.triedSince = now;
    reach.tries++;
  }

  /**
   * The path on which boards have been quiet for longest; undefined if there is none. Only boards that run are asked, so
   * their silence concerns the LAN.
   */
  quietPath(now: Instant): QuietPath | undefined {
    const users = Map.groupBy(
      [...this.#reaches.values()].flatMap((reach) =>
        isHeard(reach, now) ? reach.heard.map((last) => ({ last, since: quietSince(reach, last) })) : [],
      ),
      ({ last }) => last.path,
    );
    const quiet: QuietPath[] = [];
    for (const [path, all] of users) {
      const times = all.flatMap(({ since }) => since ?? []).sort((a, b) => a.mono - b.mono);
      const [since] = times;
      if (since === undefined || times.length < severalBoards) continue;
      if (!all.some(({ last }) => isAfter(last.at, since))) quiet.push({ path, since });
    }
    return quiet.sort((a, b) => a.since.mono - b.since.mono)[0];
  }

  /** The last question to the board did not leave this machine. */
  unsent(board: string, now: Instant): void {
    const reach = this.#reaches.get(board);
    const soon = shifted(now, unsentPause);
    if (reach?.next && isAfter(reach.next, soon)) reach.next = soon;
  }

  /** Sorts these boards by whether they answer. Those that have not been asked yet are omitted. */
  census(boards: Iterable<string>, now: Instant): LanCensus {
    const [unheard, mute]: [string[], string[]] = [[], []];
    let heard = 0;
    for (const board of boards) {
      const reach = this.#reaches.get(board);
      if (isHeard(reach, now)) heard++;
      else if (reach?.isMute) mute.push(board);
      else if (reach) unheard.push(board);
    }
    return { heard, unheard, mute };
  }

  /** All boards are due, because a term begins. */
  askAgain(): void {
    for (const reach of this.#reaches.values()) {
      reach.next = undefined;
      reach.tries = 0;
      reach.triedSince = undefined;
    }
  }

  /** The boards that answered within the last day, by name. */
  heardBefore(now: Instant): readonly string[] {
    return [...this.#reaches].flatMap(([name, reach]) => (isHeard(reach, now) ? name : [])).sort();
  }

  #reachOf(board: string): Reach {
    const known = this.#reaches.get(board);
    const reach = known ?? { heard: [], next: undefined, tries: 0, triedSince: undefined, isMute: false };
    // The map is in the order of use.
    if (known) this.#reaches.delete(board);
    this.#reaches.set(board, reach);
    const oldest = this.#reaches.size > maxBoards ? this.#reaches.keys().next().value : undefined;
    if (oldest !== undefined) this.#reaches.delete(oldest);
    return reach;
  }
}

/** Since when a board has not answered by the path of this answer; undefined if it has. */
function quietSince({ heard, tries, triedSince }: Reach, last: HeardAnswer): Instant | undefined {
  if (tries >= triesOfQuiet) return triedSince;
  // It answers by another path: it left at least one question of an hour ago unanswered by this one, and the last.
  const newest = heard.at(-1);
  return newest && elapsed(last.at, newest.at) > 1.5 * askEvery ? shifted(last.at, askEvery) : undefined;
}

function isHeard(reach: Reach | undefined, now: Instant): boolean {
  const last = reach?.heard.at(-1);
  return last !== undefined && elapsed(last.at, now) < calibratedFor;
}
