import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import { inTextOrder } from "../base/text/text-order.ts";
import { boardOf } from "../board/identity.ts";
import type { Config } from "../config/settings.ts";
import type { ElectorView } from "../election/elector-view.ts";
import { isolatedProblem, quietProblem } from "../status/judge-problems.ts";
import type { LanPart, ProblemPart } from "../status/parts.ts";
import { announcementText } from "../witness/announcement.ts";
import { Answerer } from "../witness/answerer.ts";
import { BoardKey } from "../witness/board-key.ts";
import { Calibration } from "../witness/calibration.ts";
import { KubeletHealth } from "../witness/kubelet-health.ts";
import { LeaderCalibration, type LeaderCalibrationDeps } from "../witness/leader-calibration.ts";
import { Questioner } from "../witness/questioner.ts";
import type { Edges } from "./edges.ts";

/** This board's part in the questions that boards ask each other on the LAN. */
export interface LanWitness {
  readonly answerer: Answerer;
  readonly questioner: Questioner;
  readonly leaderCalibration: LeaderCalibration;
  readonly calibration: Calibration;
  /** The text of this board's announcement on its Node. */
  announcement(): string;
}

/** Policy `kubernetes` has no witnesses, because kube-controller-manager does not query any board. */
const isUsed = ({ judgement: { policy, witness } }: Config): boolean => policy === "evidence" && witness === "lan";

/** Builds this board's LanWitness; undefined if the board neither asks nor answers. */
export function witnessOf(
  ambient: Ambient,
  { config, bootId, witness }: Edges,
  of: Pick<LeaderCalibrationDeps, "leader" | "read">,
): LanWitness | undefined {
  if (!isUsed(config)) return undefined;
  const { lan, keyFile, kubeletFile, askKubelet, askGateway, paths, everyoneOn, addresses } = witness;
  const { site, board, judgement } = config;
  const port = judgement.witnessPort;
  const key = BoardKey.kept(keyFile, ambient.log);
  const kubelet = new KubeletHealth(ambient, { ask: askKubelet, file: kubeletFile, bootId });
  const calibration = new Calibration();
  const asking = { lan, paths, everyoneOn, site: site.name, calibration };
  const answerer = new Answerer(ambient, { lan, port, site: site.name, board: board.node, bootId, key, kubelet });
  return {
    calibration,
    answerer,
    questioner: new Questioner(ambient, { ...asking, askGateway, addresses }),
    leaderCalibration: new LeaderCalibration(ambient, { ...asking, ...of }),
    announcement: () => {
      const isClosed = answerer.problem === undefined ? undefined : true;
      return announcementText({ key: key.publicText, port, addresses: addresses(), isClosed });
    },
  };
}

/** The other board that holds the Lease; undefined if none does. */
export function otherLeader({ role, holder, isFree }: ElectorView, own: string): string | undefined {
  const board = role === "leader" || isFree || holder === undefined ? undefined : boardOf(holder);
  return board === own ? undefined : board;
}

/** The other boards of the site, by whether the leader can hear them on the LAN. */
export function lanPart({ calibration }: LanWitness, boards: readonly string[], now: Instant): LanPart {
  const { heard, unheard, mute } = calibration.census(boards, now);
  const some = (names: readonly string[]) => ({
    count: names.length,
    some: [...names].sort(inTextOrder).slice(0, maxNamed),
  });
  return { boards: boards.length, heard, unheard: some(unheard), mute: some(mute) };
}

const maxNamed = 10;

/** Describes what keeps this board from asking or answering, or from hearing others. */
export function witnessProblems(witness: LanWitness | undefined, now: Instant): readonly ProblemPart[] {
  const found: ProblemPart[] = [];
  const { answerer, questioner } = witness ?? {};
  if (answerer?.problem !== undefined) {
    found.push({
      type: "WitnessUnusable",
      subject: "answers",
      severity: "info",
      message: `this board does not answer on the LAN: ${answerer.problem}`,
      hint: "if only its API link fails, its pods stay for judgement.unprovenHold at most; see judgement.witnessPort",
    });
  }
  if (questioner?.problem !== undefined) {
    found.push({
      type: "WitnessUnusable",
      subject: "questions",
      severity: "info",
      message: `boards cannot be asked on the LAN: ${questioner.problem}`,
      hint: "pods of silent boards stay for judgement.unprovenHold at most, whether or not the boards run; see IPAddressAllow= of the service, and the host's firewall",
    });
  }
  const isolation = questioner?.isolation;
  const quiet = isolation === undefined ? questioner?.quietPath : undefined;
  if (isolation !== undefined) found.push(isolatedProblem(isolation, now));
  if (quiet !== undefined) found.push(quietProblem(quiet, now));
  return found;
}
