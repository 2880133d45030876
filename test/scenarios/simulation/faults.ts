import type { Millis } from "../../../agent/base/clock.ts";
import type { Author, FreezeScope } from "../../../agent/commands/desk/controls.ts";
import type { HoldScope } from "../../../agent/holds/holds.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { unlimited } from "../unlimited-controls.ts";
import type { Edge, Impairment } from "./edge.ts";
import type { Confirmation, Span, TroubleKind } from "./history.ts";
import { leasePath } from "./recorder.ts";
import { type Fault, type Lane, type Schedule, type Setting, settled } from "./schedule.ts";
import type { SimBoard } from "./sim-board.ts";
import type { Site } from "./site.ts";

/**
 * Applies the faults of a schedule to a site, each at its time; when the calm begins, it ends all faults that can be
 * ended.
 */
export class Faults {
  readonly #site: Site;
  readonly #lan: Setting["lan"];
  readonly #calmAt: Millis;
  readonly #backups = new Map<Fault, { readonly revision: number; readonly at: Millis }>();
  #storeLost = 0;

  constructor(site: Site, { calmAt, setting }: Pick<Schedule, "calmAt" | "setting">) {
    this.#site = site;
    this.#lan = setting.lan;
    this.#calmAt = calmAt;
  }

  plan(faults: readonly Fault[]): void {
    for (const fault of faults) {
      if (fault.is === "api restored") this.#backUp(fault);
      this.#site.time.at(fault.at, () => this.#begin(fault));
    }
  }

  /** Faults during which the API server has lost its store; its open watches continue. */
  get isStoreLost(): boolean {
    return this.#storeLost > 0;
  }

  #begin(fault: Fault): void {
    this.#site.recorder.note(`! ${JSON.stringify(fault)}`);
    switch (fault.is) {
      case "cut":
        this.#impair(fault, { is: fault.how }, fault.healing);
        break;
      case "slow":
        this.#impair(fault, { is: "slow", delay: fault.delay }, "late");
        break;
      case "answers lost":
        this.#impair(fault, { is: "answers lost" }, "late");
        break;
      case "watches stalled":
        this.#impair(fault, { is: "watches stalled" }, fault.healing);
        break;
      case "storm": {
        const { status, share, retryAfter } = fault;
        this.#impair(fault, { is: "storm", status, share, retryAfter }, "late");
        break;
      }
      case "power cut":
        this.#cutPower(fault);
        break;
      case "kubelet dead":
        for (const board of this.#of(fault.board)) board.loseKubelet();
        break;
      case "LAN cut":
        for (const board of this.#of(fault.board)) {
          const mend = board.cutLan();
          if (fault.for !== undefined) this.#later(fault.for, mend);
        }
        break;
      case "new address":
        for (const board of this.#of(fault.board)) board.moveOnLan();
        break;
      case "LAN lossy":
        for (const board of this.#of(fault.board))
          this.#later(fault.for, board.lanEdge.lose(fault.share, new SeededRandom(fault.seed)));
        break;
      case "agent restart":
        this.#restartAgent(fault);
        break;
      case "pause":
        this.#pause(fault);
        break;
      case "api restart":
        this.#restartApi(fault);
        break;
      case "api restored":
        this.#restoreApi(fault);
        break;
      case "store lost":
        this.#loseStore(fault.for);
        break;
      case "clock step":
        for (const board of this.#of(fault.board)) board.stepClock(fault.by);
        break;
      case "lease deleted":
        this.#deleteLease();
        break;
      case "hold":
        void this.#hold(fault);
        break;
      case "step down":
        void this.#stepDown(fault);
        break;
      case "confirmed dead":
        for (const board of this.#of(fault.board)) this.#confirm(board);
        break;
      default:
        fault satisfies never;
    }
  }

  #of(board: string): readonly SimBoard[] {
    const { boards, leader } = this.#site;
    if (board === "every") return boards;
    const found =
      board === "leader"
        ? leader
        : board === "follower"
          ? boards.find((one) => one.isOn && one !== leader)
          : this.#site.board(board);
    return found ? [found] : [];
  }

  /**
   * A hold counts if the operator receives the answer. Without one the operator does not know the outcome, and does not
   * retry.
   */
  async #hold({ what, for: length, takenBack }: Extract<Fault, { is: "hold" }>): Promise<void> {
    const { recorder, time, leader } = this.#site;
    const controls = leader?.agent && unlimited(leader.agent.agent.siteControls);
    const author = { by: "ops:sim", reason: "drill" };
    const ttl = takenBack ? 2 * length : length;
    const begun = time.now;
    const effect =
      "freeze" in what
        ? await controls?.freeze(scopeOf(what.freeze), ttl, author, false)
        : await controls?.pause(what.pause, ttl, author, false);
    recorder.note(`. hold: ${JSON.stringify(effect)}`);
    if (effect?.outcome !== "done") return;
    // A board's quartz may be fast by half a percent.
    const hold = { what, from: time.now, until: begun + ttl * 0.99 };
    recorder.history.holds.push(hold);
    if (!takenBack) return;
    time.at(Math.max(time.now, Math.min(begun + length, this.#calmAt)), () => {
      void this.#release(what, author);
    });
  }

  /** Repeats the command until it succeeds, like an operator who needs the site back. */
  async #release(what: Extract<Fault, { is: "hold" }>["what"], author: Author): Promise<void> {
    const { recorder, leader, time } = this.#site;
    // This also ends the same hold ordered by other operators, later ones among them if it is repeated.
    for (const other of recorder.history.holds) {
      if (JSON.stringify(other.what) === JSON.stringify(what)) other.until = Math.min(other.until, time.now);
    }
    const controls = leader?.agent && unlimited(leader.agent.agent.siteControls);
    const effect =
      "freeze" in what
        ? await controls?.thaw(scopeOf(what.freeze), author, false)
        : await controls?.resume(what.pause, author, false);
    if (effect?.outcome !== "done") time.at(time.now + 5000, () => void this.#release(what, author));
  }

  async #stepDown({ to, holdOff }: Extract<Fault, { is: "step down" }>): Promise<void> {
    const { recorder, leader } = this.#site;
    const author = { by: "ops:sim", reason: "drill" };
    const controls = leader?.agent && unlimited(leader.agent.agent.siteControls);
    recorder.note(`. stepped down: ${JSON.stringify(await controls?.stepDown(to, holdOff, author, false))}`);
  }

  /** Repeats the order until it succeeds, or the operator sees that the board has power. */
  #confirm(board: SimBoard): void {
    if (board.isOn) return;
    const { name } = board.plate;
    const { recorder, time } = this.#site;
    const { confirmations } = recorder.history;
    const author = { by: "ops:sim", reason: "it has no power" };
    const order = async (): Promise<void> => {
      const agent = this.#site.leader?.agent;
      if (board.isOn || time.now >= this.#calmAt) return;
      const confirmation: Confirmation = { board: name, from: time.now, doneAt: undefined };
      if (agent) confirmations.push(confirmation);
      const effect = await (agent && unlimited(agent.agent.siteControls).confirmBoardDead(name, author, false));
      recorder.note(`. confirmed dead: ${JSON.stringify(effect)}`);
      // An order that is refused has no effect. One that fails, or whose answer never comes, may have one.
      if (effect?.outcome === "refused") confirmations.splice(confirmations.indexOf(confirmation), 1);
      if (effect?.outcome === "done") confirmation.doneAt = time.now;
      else time.at(time.now + 5000, () => void order());
    };
    void order();
  }

  /** Runs something after a delay, but no later than the beginning of the calm. */
  #later(delay: Millis, run: () => void): void {
    const { time } = this.#site;
    time.at(Math.min(time.now + delay, this.#calmAt), run);
  }

  #impair(
    fault: { readonly board: string; readonly lane: Lane; readonly for: Millis },
    impairment: Impairment,
    healing: "late" | "reset",
  ): void {
    for (const board of this.#of(fault.board)) {
      const edges: Edge[] = [];
      if (fault.lane !== "kubelet") edges.push(board.agentEdge);
      if (fault.lane !== "agent") edges.push(board.kubeletEdge);
      const own = fault.lane !== "agent";
      const mends = edges.map((edge) => edge.impair({ ...impairment }, healing));
      if (own) board.troubled(mends, troubleOf(fault.lane, impairment));
      const isCable = impairment.is === "silent" && fault.lane === "both" && this.#lan === "same cable";
      if (isCable) mends.push(board.cutLan());
      this.#later(fault.for, () => {
        this.#site.recorder.note(`. ${board.plate.name}: ${impairment.is} over`);
        for (const mend of mends) mend();
        if (own) board.relieved(mends);
      });
    }
  }

  #cutPower(fault: Extract<Fault, { is: "power cut" }>): void {
    for (const board of this.#of(fault.board)) {
      if (!board.isOn) continue;
      board.powerOff(fault.cache);
      board.troubled(fault, "no power");
      if (fault.for === undefined) continue;
      this.#later(fault.for, () => {
        board.powerOn(fault.wakesIn);
        board.relieved(fault);
      });
    }
  }

  #restartAgent(fault: Extract<Fault, { is: "agent restart" }>): void {
    for (const board of this.#of(fault.board)) {
      if (fault.how === "killed") board.killAgent();
      else board.stopAgent();
      this.#later(fault.for, () => {
        // A process that is still stopping is killed.
        board.killAgent();
        board.startAgent();
      });
    }
  }

  #pause(fault: Extract<Fault, { is: "pause" }>): void {
    for (const board of this.#of(fault.board)) {
      const process = board.agent?.process;
      if (process === undefined) continue;
      process.suspend();
      board.muted(process, true);
      this.#later(fault.for, () => {
        this.#site.recorder.note(`. ${board.plate.name} resumes`);
        process.resume(fault.waking);
        board.muted(process, false);
      });
    }
  }

  #backUp(fault: Extract<Fault, { is: "api restored" }>): void {
    const { api, time } = this.#site;
    // Backups from before the site was up are not supported.
    time.at(Math.max(settled, fault.at - fault.age), () =>
      this.#backups.set(fault, { revision: api.revision, at: time.now }),
    );
  }

  #restoreApi(fault: Extract<Fault, { is: "api restored" }>): void {
    const { api, recorder, time, boards } = this.#site;
    this.#takeDown(fault, () => {
      const backup = this.#backups.get(fault) ?? { revision: api.revision, at: time.now };
      api.start({ forgetful: false, backup: backup.revision });
      recorder.history.undone.push({ from: backup.at, until: time.now });
      recorder.changed(leasePath);
      recorder.changed("/api/v1/nodes");
      recorder.history.restores.push(time.now);
      // Later holds exist only on boards that may be dark.
      for (const hold of recorder.history.holds) hold.until = Math.min(hold.until, time.now);
      // Kubelets resume their watches in the former history; Kubernetes' own manual says to restart them after a restore.
      for (const board of boards.filter(({ isOn }) => isOn)) {
        board.stopKubelet();
        board.startKubelet();
      }
    });
  }

  #restartApi(fault: Extract<Fault, { is: "api restart" }>): void {
    this.#takeDown(fault, () => this.#site.api.start({ forgetful: fault.forgetful }));
  }

  #takeDown(
    { how, for: length }: { readonly how: "orderly" | "crash"; readonly for: Millis },
    start: () => void,
  ): void {
    const { api, boards } = this.#site;
    if (!api.isUp) return;
    const outage = this.#outage();
    api.stop();
    if (how === "crash") {
      for (const { agentEdge, kubeletEdge } of boards) {
        agentEdge.reset("the connection was reset");
        kubeletEdge.reset("the connection was reset");
      }
    }
    this.#later(length, () => {
      start();
      outage.until = this.#site.time.now;
      this.#site.recorder.note(". the API server is back");
    });
  }

  /** Refuses all requests; watches stay open without events. */
  #loseStore(length: Millis): void {
    this.#storeLost++;
    const outage = this.#outage();
    const storm: Impairment = { is: "storm", status: 500, share: 1, retryAfter: undefined };
    const mends = this.#site.boards.flatMap(({ agentEdge, kubeletEdge }) =>
      [agentEdge, kubeletEdge].map((edge) => edge.impair({ ...storm }, "late")),
    );
    this.#later(length, () => {
      this.#storeLost--;
      for (const mend of mends) mend();
      outage.until = this.#site.time.now;
    });
  }

  #outage(): Span {
    const span: Span = { from: this.#site.time.now, until: undefined };
    this.#site.recorder.history.outages.push(span);
    return span;
  }

  /** A person using kubectl directly on the API server. */
  #deleteLease(): void {
    const { api, recorder } = this.#site;
    if (!api.isUp || this.isStoreLost) return;
    api.handle({ method: "DELETE", path: leasePath, headers: {}, signal: new AbortController().signal });
    recorder.changed(leasePath);
    // The holds of operators are on it.
    for (const hold of recorder.history.holds) hold.until = Math.min(hold.until, this.#site.time.now);
  }
}

const scopeOf = ({ scope, target = "" }: HoldScope): FreezeScope => (scope === "site" ? { scope } : { scope, target });

function troubleOf(lane: Lane, { is }: Impairment): TroubleKind {
  if (lane === "kubelet") return "only the kubelet's link";
  if (is === "silent") return "the whole link, silent";
  return is === "refused" ? "the whole link, refused" : "the whole link, slow or refusing";
}
