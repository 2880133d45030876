import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import type { LanAnswer } from "../judgement/lan-answer.ts";
import { type Counted, counting, isComplete, isEnough, type LanReport, noneCounted } from "../judgement/lan-silence.ts";
import type { Announcement } from "./announcement.ts";
import { type Calibration, type QuietPath, severalBoards } from "./calibration.ts";
import type { AskGateway } from "./gateway.ts";
import { isDirect } from "./lan.ts";
import { QuestionPort, type QuestionPortDeps, type ReceivedAnswer } from "./question-port.ts";
import { isAskedByAll, neededPaths, type Way } from "./ways.ts";

export interface QuestionerDeps extends QuestionPortDeps {
  readonly calibration: Calibration;
  readonly askGateway: AskGateway;
  /** This machine's addresses now. */
  readonly addresses: () => readonly string[];
}

/** The boards about which a leader asks. */
export interface QuestionTargets {
  /** The boards that have been silent for long enough to be asked; undefined if they are currently unknown. */
  inDoubt(now: Instant): readonly string[] | undefined;
  /** All other boards of the site. */
  others(): Iterable<string>;
  /** Where a board answers, and its key; undefined if it does not answer. */
  announced(board: string): Announcement | undefined;
  /** The boot in which the board's kubelet last reported to the API server; undefined if unknown. */
  reportedBoot(board: string): string | undefined;
}

/** The questions of one round, until the next one begins. */
interface Round {
  readonly doubted: readonly string[];
  /** For each board in doubt whose silence this round can show, the paths by which an answer would come. */
  readonly paths: ReadonlyMap<string, readonly string[]>;
  /** The paths to all boards in doubt whose silence still has to be shown. */
  readonly watched: readonly string[];
  /** The paths by which questions to these boards were sent. */
  readonly asked: ReadonlySet<string>;
  /** Boards that are not in doubt, and answered before. */
  readonly controls: readonly string[];
  /** Boards that are asked only for calibration. */
  readonly due: readonly string[];
  /** The paths by which the controls answered before. */
  readonly controlPaths: ReadonlySet<string>;
  /** The paths on which a gateway answered in this round. */
  readonly gateways: Set<string>;
}

interface AnnouncedBoard {
  readonly board: string;
  readonly announced: Announcement;
}

/** A path by which this leader is cut off from others. */
export interface Isolation {
  readonly path: string;
  readonly since: Instant;
}

interface DeadPath {
  readonly since: Instant;
  /** The rounds of questions since then. */
  readonly counted: Counted;
}

const period: Millis = 5000;
/**
 * Maximum number of boards asked at the same time. If more are in doubt, those that were asked longest ago come first.
 */
const maxAsked = 200;
/** Maximum number of boards asked in one round only for calibration. */
const maxCalibrated = 50;
/**
 * For each path, the number of boards that are asked as controls in each round, among those that answered by it.
 */
const controlsPerPath = 2;
/** Maximum number of silent boards for which a question is broadcast in one round. */
const maxEveryone = 16;
/**
 * How often a question is broadcast for a board whose silence is shown, or cannot be shown: it may rejoin the LAN with a
 * new address.
 */
const everyoneAgain: Millis = 60_000;
/** After so many broadcasts for a board they become rare, because its silence cannot be shown. */
const maxOften = 60;
/** How many announcements are read in one round at least, and in how many rounds those of the largest site are. */
const minRead = 200;
const roundsToRead = 6;
/** Maximum number of controls in one round, and of gateways. */
const maxControls = 16;
const maxGateways = 8;

/**
 * Asks boards on the LAN while this board leads: each board once an hour, for calibration, and the silent ones in every
 * round. At all other times, it sends nothing and has no port open. LAN answers, and the counts of
 * unanswered questions, are kept while a board is in doubt.
 */
export class Questioner {
  readonly #ambient: Ambient;
  readonly #deps: QuestionerDeps;
  readonly #port: QuestionPort;
  readonly #words = new Map<string, LanAnswer>();
  /** The announced keys of the boards in doubt. */
  readonly #keys = new Map<string, string>();
  /** The questions that boards in doubt left unanswered while others answered. */
  readonly #counts = new Map<string, Counted>();
  /** The last rounds, if no board answered in any of them. */
  #alone = noneCounted;
  /**
   * The paths on which, in the latest rounds, neither a gateway nor any board that answered by that path before
   * has answered.
   */
  #dead: ReadonlyMap<string, DeadPath> = new Map();
  #round: Round | undefined;
  /** The boards in doubt that answered in the last round. */
  #answering: ReadonlySet<string> = new Set();
  /** The boards in doubt that left their last question unanswered. */
  readonly #unanswering = new Set<string>();
  /** When a question was broadcast for them; the one for which that is longest ago comes first. */
  readonly #everyoneAsked = new Map<string, { readonly at: Instant; readonly times: number }>();
  #doubted: ReadonlySet<string> = new Set();
  /** The addresses of silent boards that another board announces as well, as far as the announcements were read. */
  readonly #shared = new Set<string>();
  /** How many announcements were read for this. */
  #read = 0;
  /** The control that was asked last; empty if none was. */
  #lastControl = "";
  #targets: QuestionTargets | undefined;

  constructor(ambient: Ambient, deps: QuestionerDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#port = new QuestionPort(ambient, deps, (answer) => this.#receive(answer));
  }

  /** The result of asking a board in doubt; undefined if it was not asked, or nothing can be concluded. */
  wordOf(board: string): LanReport | undefined {
    const word = this.#words.get(board);
    const key = this.#keys.get(board);
    const now = this.#ambient.clock.now();
    const { calibration } = this.#deps;
    // If no board answers this leader, the LAN is no witness on this site.
    if (key === undefined || !calibration.hasAny(now)) return word && { word };
    const isCalibrated = calibration.covers(board, key, now);
    const unanswered = { isCalibrated, counted: this.#counts.get(board) ?? noneCounted, alone: this.#alone };
    return { ...(word && { word }), unanswered };
  }

  /** Why questions cannot be sent; undefined if they can, or none are. */
  get problem(): string | undefined {
    return this.#targets && this.#port.problem;
  }

  /**
   * A path to silent boards on which this leader no longer receives any answer, and since when: neither from the boards
   * that answered by this path before, at least two, nor from the gateway. Undefined if there is none.
   */
  get isolation(): Isolation | undefined {
    const enough = [...this.#dead].filter(([, { counted }]) => isEnough(counted));
    const [first] = enough.map(([path, { since }]) => ({ path, since })).sort((a, b) => a.since.mono - b.since.mono);
    return first;
  }

  /**
   * A path on which boards that run no longer answer this leader; undefined if there is none, if no board is asked, or
   * if questions cannot be sent at all.
   */
  get quietPath(): QuietPath | undefined {
    if (this.#targets === undefined || this.#port.problem !== undefined) return undefined;
    return this.#deps.calibration.quietPath(this.#ambient.clock.now());
  }

  /** Asks until the signal aborts. Only the calibration is kept after that, because another board may lead by then. */
  async run(targets: QuestionTargets, signal: AbortSignal): Promise<void> {
    this.#targets = targets;
    this.#deps.calibration.askAgain();
    try {
      while (!signal.aborted) {
        await this.#ask(targets, signal);
        await sleep(this.#ambient.clock, period, signal);
      }
    } finally {
      this.#targets = undefined;
      this.#keepOnly(new Set());
      this.#port.close();
    }
  }

  async #ask(targets: QuestionTargets, signal: AbortSignal): Promise<void> {
    const now = this.#ambient.clock.now();
    const doubted = targets.inDoubt(now);
    if (doubted === undefined) {
      this.#round = undefined;
      return;
    }
    this.#settle();
    this.#keepOnly(new Set(doubted));
    const due = this.#due(targets, now);
    if (doubted.length === 0 && due.length === 0) {
      this.#port.close();
      return;
    }
    const isOpen = await this.#port.open(signal);
    const asked = this.#next(doubted).flatMap((board) => this.#askDoubted(board, targets, isOpen) ?? []);
    const open = asked.filter(({ board }) => this.#isOpen(board));
    const toBroadcast = this.#toBroadcast(asked, now);
    const unheard = toBroadcast.slice(0, maxEveryone);
    const own = new Set(open.length + unheard.length > 0 ? this.#deps.addresses() : []);
    if (open.length > 0) this.#findShared(open, targets);
    const known = unheard.length > 0 ? this.#deps.calibration.knownPaths(now) : new Set<string>();
    for (const one of unheard) this.#askEveryone(one, this.#wayTo(one, own, now), known, now);
    const ways = open.filter((one) => !this.#isShared(one, now)).map((one) => this.#wayTo(one, own, now));
    // Their silence does not count in this round: they may have another address.
    const crowded = new Set(toBroadcast.slice(maxEveryone).map(({ board }) => board));
    const controls = open.length > 0 ? this.#controls(targets, now, new Set(ways.flatMap(({ near }) => near))) : [];
    for (const board of due) {
      const announced = targets.announced(board);
      // A question that cannot be sent shows nothing, so it remains due.
      const isMute = announced === undefined || announced.addresses.length === 0;
      if (isOpen || isMute) this.#deps.calibration.tried(board, now, { isMute });
      if (announced) this.#port.ask(board, announced);
    }
    for (const { board, announced } of controls) this.#port.ask(board, announced);
    const names = controls.map(({ board }) => board);
    const controlPaths = new Set(names.flatMap((board) => this.#deps.calibration.pathsOf(board, now)));
    const shared = new Set(controls.flatMap(({ announced }) => this.#pathsTo(announced, own)));
    this.#round = {
      doubted: asked.map(({ board }) => board),
      paths: new Map(
        ways
          .filter((way) => isAskedByAll(way) && !crowded.has(way.board))
          .map((way) => [way.board, neededPaths(way, shared)]),
      ),
      watched: [...new Set(ways.flatMap((way) => neededPaths(way, shared)))],
      asked: new Set(ways.flatMap(({ announced }) => announced)),
      controls: names,
      due,
      controlPaths,
      gateways: new Set(),
    };
    this.#askGateways(this.#round);
  }

  /**
   * Asks the gateways of paths without a control and of paths on which no board answers; while no board answers at all,
   * the gateways of all paths.
   */
  #askGateways({ watched, controlPaths, gateways }: Round): void {
    const needed = watched.filter(
      (path) => isDirect(path) && (this.#alone.questions > 0 || this.#dead.has(path) || !controlPaths.has(path)),
    );
    for (const path of needed.slice(0, maxGateways))
      void this.#deps.askGateway(path).then((answers) => answers && gateways.add(path));
  }

  /**
   * The boards for which a question should be broadcast in this round, because they left their last one unanswered;
   * those for which that was done longest ago come first.
   */
  #toBroadcast(silent: readonly AnnouncedBoard[], now: Instant): readonly AnnouncedBoard[] {
    const askedAt = (board: string): number => this.#everyoneAsked.get(board)?.at.mono ?? Number.NEGATIVE_INFINITY;
    const isOften = (board: string): boolean =>
      this.#isOpen(board) && (this.#everyoneAsked.get(board)?.times ?? 0) < maxOften;
    const isDue = (board: string): boolean =>
      this.#unanswering.has(board) && (isOften(board) || now.mono - askedAt(board) >= everyoneAgain);
    return silent.filter(({ board }) => isDue(board)).sort((a, b) => askedAt(a.board) - askedAt(b.board));
  }

  /**
   * Broadcasts a question on the networks of a board and on those where any board answered: its address, or this
   * machine's, may have changed while it could not announce a new one. Networks within each board, such as container
   * bridges, are left out.
   */
  #askEveryone({ board, announced }: AnnouncedBoard, { near }: Way, known: ReadonlySet<string>, now: Instant): void {
    const paths = new Set([...near, ...known].filter(isDirect));
    this.#port.askEveryone(board, announced, [...paths]);
    this.#everyoneAsked.set(board, { at: now, times: (this.#everyoneAsked.get(board)?.times ?? 0) + 1 });
  }

  /** Asks a board in doubt; undefined if it cannot be asked. */
  #askDoubted(board: string, targets: QuestionTargets, isOpen: boolean): AnnouncedBoard | undefined {
    // A question that cannot be sent counts as well, because an earlier answer must not remain valid for ever without
    // new ones.
    const word = this.#words.get(board);
    if (word) this.#words.set(board, { ...word, asked: word.asked + 1 });
    const where = targets.announced(board);
    if (where === undefined) {
      this.#keys.delete(board);
      return undefined;
    }
    if (this.#keys.get(board) !== where.key) this.#counts.delete(board);
    this.#keys.set(board, where.key);
    if (isOpen) this.#port.ask(board, where);
    return isOpen ? { board, announced: where } : undefined;
  }

  /** Draws the conclusions from the questions of the last round, whose answers have had time to arrive. */
  #settle(): void {
    const round = this.#round;
    this.#round = undefined;
    if (round === undefined) return;
    const { doubted, paths, watched, controls, due, gateways } = round;
    const boards = [...doubted, ...controls];
    const heard = boards.filter((board) => this.#port.outcome(board) === "answered");
    const answered = new Set(heard.flatMap((board) => [...this.#port.pathsOf(board)]));
    this.#answering = new Set(heard);
    for (const board of doubted) {
      if (this.#port.outcome(board) === "unanswered") this.#unanswering.add(board);
      else this.#unanswering.delete(board);
    }
    for (const [board, needed] of paths) {
      const at = this.#port.askedAt(board);
      if (this.#port.outcome(board) !== "unanswered" || at === undefined) continue;
      if (isControlled(needed, answered, round))
        this.#counts.set(board, counting(this.#counts.get(board) ?? noneCounted, at));
    }
    const now = this.#ambient.clock.now();
    const { calibration } = this.#deps;
    for (const board of due) if (this.#port.outcome(board) === "unknown") calibration.unsent(board, now);
    const silent = boards.filter(
      (board) => calibration.wasHeard(board, now) && this.#port.outcome(board) === "unanswered",
    );
    const [first] = silent;
    const at = first === undefined ? undefined : this.#port.askedAt(first);
    const isAlone = heard.length === 0 && gateways.size === 0 && silent.length >= severalBoards;
    this.#alone = isAlone && at ? counting(this.#alone, at) : noneCounted;
    this.#dead = new Map(
      watched.flatMap((path) => {
        const users = boards.filter((board) => calibration.pathsOf(board, now).includes(path));
        const asked = users.map((board) => this.#port.askedAt(board)).find((time) => time !== undefined);
        if (users.length < severalBoards || asked === undefined || answered.has(path) || gateways.has(path)) return [];
        // This machine has lost a network to which no question leads, unless the boards have moved to another one.
        if (!round.asked.has(path) && users.some((board) => calibration.hasMoved(board, path))) return [];
        const { since = asked, counted = noneCounted } = this.#dead.get(path) ?? {};
        return [[path, { since, counted: counting(counted, asked) }] as const];
      }),
    );
  }

  /** Whether the silence of a board in doubt still has to be shown. */
  #isOpen(board: string): boolean {
    return !this.#answering.has(board) && !isComplete(this.#counts.get(board) ?? noneCounted);
  }

  /**
   * Reads the announcements of more boards, and remembers the addresses of silent ones that are announced twice. A site of
   * ordinary size is read in one round, the largest before a board can be found lost.
   */
  #findShared(silent: readonly AnnouncedBoard[], targets: QuestionTargets): void {
    const owners = new Map<string, string>();
    const note = (board: string, address: string): void => {
      const owner = owners.get(address) ?? board;
      if (owner === board || this.#shared.has(address)) return;
      this.#shared.add(address);
      this.#ambient.log.warn("two boards announce the same address on the LAN", { address, boards: [owner, board] });
    };
    for (const { board, announced } of silent)
      for (const address of announced.addresses) {
        note(board, address);
        owners.set(address, board);
      }
    const names = [...targets.others()];
    const count = Math.min(names.length, Math.max(minRead, Math.ceil(names.length / roundsToRead)));
    for (let index = 0; index < count; index++) {
      const board = names[this.#read++ % names.length] ?? "";
      for (const address of targets.announced(board)?.addresses ?? []) note(board, address);
    }
  }

  /**
   * Whether other boards announce all addresses that this one has on a network where it answered, by mistake or because
   * its card was copied: it is then unknown which board receives the questions. A virtual address that moves between
   * boards, or equal addresses of container bridges, do no harm.
   */
  #isShared({ board, announced }: AnnouncedBoard, now: Instant): boolean {
    if (!announced.addresses.some((address) => this.#shared.has(address))) return false;
    return this.#deps.calibration.pathsOf(board, now).some((path) => {
      const there = announced.addresses.filter((address) => this.#port.pathTo(address) === path);
      return there.length > 0 && there.every((address) => this.#shared.has(address));
    });
  }

  #wayTo({ board, announced }: AnnouncedBoard, own: ReadonlySet<string>, now: Instant): Way {
    const paths = this.#pathsTo(announced, own);
    const { calibration } = this.#deps;
    return {
      board,
      near: [...calibration.pathsOf(board, now), ...paths.filter(isDirect)],
      announced: paths,
      isHere: calibration.isWhereHeard(board, (path) => this.#port.networksOn(path)),
    };
  }

  /**
   * `own`: this machine's addresses. A board's address that this machine has as well belongs to a network within each
   * board, such as a container bridge, and is left out.
   */
  #pathsTo({ addresses }: Announcement, own: ReadonlySet<string>): readonly string[] {
    return addresses.filter((address) => !own.has(address)).map((address) => this.#port.pathTo(address));
  }

  /**
   * For each path, boards that are not in doubt and answered by it before, in turn; any such boards if no path is
   * known. Reads the Nodes of no more boards than it has to.
   */
  #controls(targets: QuestionTargets, now: Instant, paths: ReadonlySet<string>): readonly AnnouncedBoard[] {
    const { calibration } = this.#deps;
    const heard = calibration.heardBefore(now);
    const after = heard.findIndex((board) => board > this.#lastControl);
    const inTurn = after < 0 ? heard : [...heard.slice(after), ...heard.slice(0, after)];
    const wanted = new Map([...paths].map((path) => [path, controlsPerPath]));
    const most = paths.size > 0 ? maxControls : controlsPerPath;
    const chosen: AnnouncedBoard[] = [];
    for (const board of inTurn) {
      if (chosen.length === most || (paths.size > 0 && wanted.size === 0)) break;
      const ways = calibration.pathsOf(board, now);
      if (this.#doubted.has(board) || (paths.size > 0 && !ways.some((path) => wanted.has(path)))) continue;
      const announced = targets.announced(board);
      if (announced === undefined || announced.addresses.length === 0) continue;
      if (!calibration.covers(board, announced.key, now)) continue;
      chosen.push({ board, announced });
      for (const path of ways) {
        const left = (wanted.get(path) ?? 0) - 1;
        if (left > 0) wanted.set(path, left);
        else wanted.delete(path);
      }
    }
    this.#lastControl = chosen.at(-1)?.board ?? "";
    return chosen;
  }

  /** The boards to ask only for calibration. */
  #due(targets: QuestionTargets, now: Instant): readonly string[] {
    const { calibration } = this.#deps;
    const due: string[] = [];
    for (const board of targets.others()) {
      if (due.length === maxCalibrated) break;
      if (this.#doubted.has(board) || !calibration.isDue(board, now)) continue;
      due.push(board);
    }
    return due;
  }

  #next(boards: readonly string[]): readonly string[] {
    if (boards.length <= maxAsked) return boards;
    const askedAt = (board: string): number => this.#port.askedAt(board)?.mono ?? Number.NEGATIVE_INFINITY;
    return [...boards].sort((a, b) => askedAt(a) - askedAt(b)).slice(0, maxAsked);
  }

  #receive({ board, statement: { boot, kubelet }, heard, askedAt }: ReceivedAnswer): void {
    if (heard !== undefined) this.#deps.calibration.heard(board, heard);
    if (!this.#doubted.has(board)) return;
    this.#counts.delete(board);
    const asked = this.#everyoneAsked.get(board);
    if (asked) this.#everyoneAsked.set(board, { ...asked, times: 0 });
    if (!this.#words.has(board))
      this.#ambient.log.info("a silent board answers on the LAN", { board, kubelet: kubelet.is, boot });
    const isRebooted = isOther(boot, this.#targets?.reportedBoot(board));
    this.#words.set(board, { askedAt, asked: 0, kubelet, ...(isRebooted && { isRebooted }) });
  }

  #keepOnly(doubted: ReadonlySet<string>): void {
    this.#doubted = doubted;
    for (const kept of [this.#words, this.#keys, this.#counts, this.#unanswering, this.#everyoneAsked])
      for (const board of kept.keys()) if (!doubted.has(board)) kept.delete(board);
    this.#port.keepOnly(doubted);
    if (doubted.size > 0) return;
    this.#alone = noneCounted;
    this.#dead = new Map();
    this.#shared.clear();
  }
}

/**
 * Whether this leader could hear the silent board in this round: by each path, another board answered or, where none
 * can be asked, the gateway. One path is not enough, because it is unknown which of its paths the board still has.
 */
function isControlled(paths: readonly string[], answered: ReadonlySet<string>, round: Round): boolean {
  const { controlPaths, gateways } = round;
  if (paths.length === 0) return answered.size > 0;
  return paths.every((path) => answered.has(path) || (!controlPaths.has(path) && gateways.has(path)));
}

/**
 * Whether a board is running in a different boot from the one that its kubelet reported. A board without /proc does not
 * know its own boot.
 */
const isOther = (boot: string, reported: string | undefined): true | undefined =>
  reported !== undefined && isBootId(boot) && isBootId(reported) && boot.toLowerCase() !== reported.toLowerCase()
    ? true
    : undefined;

const isBootId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
