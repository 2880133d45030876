import type { Ambient } from "../base/ambient.ts";
import type { Config } from "../config/settings.ts";
import type { ProblemPart } from "../status/parts.ts";
import { announcementText } from "../witness/announcement.ts";
import { Answerer } from "../witness/answerer.ts";
import { BoardKey } from "../witness/board-key.ts";
import { KubeletHealth } from "../witness/kubelet-health.ts";
import { Questioner } from "../witness/questioner.ts";
import type { Edges } from "./edges.ts";

/** This board's part in the questions that boards ask each other on the LAN. */
export interface LanWitness {
  readonly answerer: Answerer;
  readonly questioner: Questioner;
  /** The text of this board's announcement on its Node. */
  announcement(): string;
}

/** Policy `kubernetes` has no witnesses, because kube-controller-manager does not query any board. */
const isUsed = ({ judgement: { policy, witness } }: Config): boolean => policy === "evidence" && witness === "lan";

/** Undefined if this board neither asks nor answers. */
export function witnessOf(ambient: Ambient, { config, bootId, witness }: Edges): LanWitness | undefined {
  if (!isUsed(config)) return undefined;
  const { lan, keyFile, kubeletFile, askKubelet, addresses } = witness;
  const { site, board, judgement } = config;
  const port = judgement.witnessPort;
  const key = BoardKey.kept(keyFile, ambient.log);
  const kubelet = new KubeletHealth(ambient, { ask: askKubelet, file: kubeletFile, bootId });
  return {
    answerer: new Answerer(ambient, { lan, port, site: site.name, board: board.node, bootId, key, kubelet }),
    questioner: new Questioner(ambient, { lan, site: site.name }),
    announcement: () => announcementText({ key: key.publicText, port, addresses: addresses() }),
  };
}

/** Describes what keeps this board from asking or answering. */
export function witnessProblems(witness: LanWitness | undefined): readonly ProblemPart[] {
  const found: ProblemPart[] = [];
  const { answerer, questioner } = witness ?? {};
  if (answerer?.problem !== undefined) {
    found.push({
      type: "WitnessUnusable",
      subject: "answers",
      severity: "info",
      message: `this board does not answer on the LAN: ${answerer.problem}`,
      hint: "if only its API link fails, it is treated like a dead board; see judgement.witnessPort",
    });
  }
  if (questioner?.problem !== undefined) {
    found.push({
      type: "WitnessUnusable",
      subject: "questions",
      severity: "info",
      message: `silent boards cannot be asked on the LAN: ${questioner.problem}`,
      hint: "they are judged by the API alone; see IPAddressAllow= of the service, and the host's firewall",
    });
  }
  return found;
}
