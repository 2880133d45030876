import { asRecord } from "../../base/json.ts";
import { bootId, type ReadFact } from "../../board/facts.ts";
import { type CheckResult, ok, skip, unreached, warn } from "../check-result.ts";
import { configOf, type Patient } from "../patient.ts";

/**
 * Checks whether `board.node` names the Node of this board. If it named another board's Node, the agent would annotate
 * that Node and, under `policy: evidence`, would never judge that board.
 */
export async function nodeIdentity(patient: Patient): Promise<CheckResult> {
  const { api, files } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  const { node } = config.board;
  try {
    const { status, body } = await api.ask("GET", `/api/v1/nodes/${encodeURIComponent(node)}`);
    if (status === 404) return missingNode(node);
    if (status !== 200) return skip(`Node ${node} cannot be read (HTTP ${status})`);
    return checkSystemUuid(node, asRecord(asRecord(body?.status).nodeInfo).bootID, files.read);
  } catch {
    return unreached;
  }
}

/** Compares the boot that a Node's kubelet reported with the current boot of this board. */
export function checkSystemUuid(node: string, reported: unknown, read: ReadFact): CheckResult {
  const own = bootId(read);
  if (typeof reported !== "string" || reported === "") return skip(`Node ${node} does not report a boot`);
  if (own === "unknown") return skip("this board's boot id cannot be read");
  if (reported === own) return ok(`Node ${node} reports the current boot of this board`);
  return warn(
    `Node ${node} reports a different boot: either the kubelet has not started since this board booted, or ` +
      `${node} is another board`,
    `If a kubelet runs here, set board.node to the name under which it registered: kubectl get nodes -o ` +
      `custom-columns=NAME:.metadata.name,BOOT:.status.nodeInfo.bootID shows the boot of each; this board's is ${own}.`,
  );
}

const missingNode = (node: string): CheckResult =>
  warn(
    `there is no Node ${node}`,
    "Set board.node to the name under which this board's kubelet registered (kubectl get nodes).",
  );
