import { deadline, type Millis } from "../../base/clock.ts";
import { sentenceOf } from "../../base/errors.ts";
import type { Config } from "../../config/settings.ts";
import { lanText } from "../../status/lan-text.ts";
import type { Status } from "../../status/schema.ts";
import { decodeAnswer, encodeQuestion, type WitnessAnswer } from "../../witness/datagrams.ts";
import type { Lan } from "../../witness/lan.ts";
import { udp } from "../../witness/udp.ts";
import { type CheckResult, fail, info, ok, skip, warn } from "../check-result.ts";
import { configOf, type Patient } from "../patient.ts";

/** Time limit for the agent's answer. Before it answers, the agent asks the kubelet, for up to 2.5 s. */
const patience: Millis = 4000;

/** A running agent whose boards ask each other on the LAN, or why there is none to check. */
function askingOf(
  patient: Patient,
): { readonly config: Config; readonly status: Status } | { readonly skipped: CheckResult } {
  const config = configOf(patient);
  if (!config) return { skipped: skip("the configuration cannot be read") };
  const { policy, witness } = config.judgement;
  if (policy !== "evidence" || witness !== "lan")
    return { skipped: skip("boards do not ask each other (judgement.witness)") };
  if (!patient.status?.isFresh) return { skipped: skip("the agent is not running (agent.state)") };
  return { config, status: patient.status.status };
}

/** Checks whether the agent of this board answers questions on the LAN, by asking it over loopback. */
export async function witnessLan(patient: Patient, lan: Lan = udp): Promise<CheckResult> {
  const asking = askingOf(patient);
  if ("skipped" in asking) return asking.skipped;
  const { config } = asking;
  try {
    return checkAnswer(await answerOf(config, patient, lan), config.judgement.witnessPort);
  } catch (error) {
    return warn(`the agent cannot be asked: ${sentenceOf(error)}`);
  }
}

/** Checks which boards this one can hear on the LAN, if it leads; only the leader asks them. */
export function witnessSite(patient: Patient): CheckResult {
  const asking = askingOf(patient);
  if ("skipped" in asking) return asking.skipped;
  const { leader, lan } = asking.status;
  const { witnessPort } = asking.config.judgement;
  if (lan === undefined) {
    return skip(
      leader?.role === "leader"
        ? "this board has not judged its site yet"
        : `only the leader asks the boards${leader?.holder === undefined ? "" : `: run this on ${leader.holder}`}`,
    );
  }
  const text = lanText(lan);
  if (lan.heard === 0 && lan.unheard.count > 0)
    return warn(
      `${text}; silence is judged without the LAN`,
      `Allow UDP port ${witnessPort} in each board's firewall; a Wi-Fi access point may isolate its clients from each other.`,
    );
  if (lan.unheard.count > 0)
    return warn(
      `${text}; if such a board falls silent, its pods stay for judgement.unprovenHold`,
      `Allow UDP port ${witnessPort} in the board's firewall, and compare its address with kubectl get node NODE -o yaml (siteward.dev/witness).`,
    );
  return lan.mute.count > 0
    ? info(text, "Boards announce an address while their agent runs, with judgement.witness: lan.")
    : ok(text);
}

async function answerOf(
  { site, board, judgement }: Config,
  { ambient: { clock, random }, signal }: Patient,
  lan: Lan,
): Promise<WitnessAnswer | undefined> {
  const nonce = Buffer.from(random.uuid().replaceAll("-", ""), "hex");
  const bound = deadline(clock, patience, signal, () => new Error("no answer"));
  const { promise, resolve, reject } = Promise.withResolvers<WitnessAnswer | undefined>();
  const port = await lan.open(0, (datagram) => {
    const answer = decodeAnswer(datagram);
    if (answer && nonce.equals(answer.nonce)) resolve(answer);
  });
  bound.signal.addEventListener("abort", () => resolve(undefined), { once: true });
  try {
    const question = encodeQuestion({ nonce, site: site.name, board: board.node });
    port.send(question, { address: "127.0.0.1", port: judgement.witnessPort }, reject);
    return await promise;
  } finally {
    bound.dispose();
    port.close();
  }
}

export function checkAnswer(answer: WitnessAnswer | undefined, port: number): CheckResult {
  if (answer === undefined) {
    return warn(
      `the agent does not answer on UDP port ${port}`,
      "The status (WitnessUnusable) and the log have the reason. Another program may be using the port: judgement.witnessPort.",
    );
  }
  switch (answer.kubelet.is) {
    case "ok":
      return ok(
        `the agent answers on UDP port ${port}, and its kubelet is healthy; make sure the host's firewall allows it`,
      );
    case "unknown":
      return info(
        "the agent answers, but cannot tell whether the kubelet is running: http://127.0.0.1:10248/healthz has never answered",
        "Keep healthzPort and healthzBindAddress of the kubelet at their defaults.",
      );
    case "down":
      return fail("the agent answers that this board's kubelet is not running", "systemctl status kubelet");
    default:
      return answer.kubelet satisfies never;
  }
}
