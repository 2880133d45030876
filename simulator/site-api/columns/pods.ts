import { isJsonObject, itemsAt, type JsonValue, numberAt, textAt, valueAt } from "../../../agent/api/json.ts";
import type { Millis } from "../../../agent/base/clock.ts";
import type { ApiObject } from "../objects/object.ts";
import { age, ageColumn, type Column, column, nameColumn, orNone, wideColumn } from "./column.ts";

export const podColumns: readonly Column[] = [
  nameColumn,
  column("Ready", "Ready containers out of all.", (pod) => {
    const { ready, containers } = look(pod);
    return `${ready}/${containers}`;
  }),
  column("Status", "The pod's state, as its containers report it.", (pod) => look(pod).status),
  column("Restarts", "Number of restarts of its containers.", restarts),
  ageColumn,
  wideColumn("IP", "The pod's address.", (pod) => orNone(textAt(itemsAt(pod, "status", "podIPs")[0], "ip"))),
  wideColumn("Node", "The board it is bound to.", (pod) => orNone(textAt(pod, "spec", "nodeName"))),
  wideColumn("Nominated Node", "The board that is being cleared for it.", (pod) =>
    orNone(textAt(pod, "status", "nominatedNodeName")),
  ),
  wideColumn("Readiness Gates", "Fulfilled readiness gates out of all.", readinessGates),
];

interface Look {
  readonly ready: number;
  readonly containers: number;
  readonly status: string;
  readonly restarts: number;
  /** When a container last ended; "" if none has ended. */
  readonly lastEnd: string;
}

const hasCondition = (pod: ApiObject, type: string): boolean =>
  itemsAt(pod, "status", "conditions").some(
    (condition) => textAt(condition, "type") === type && textAt(condition, "status") === "True",
  );

function restarts(pod: ApiObject, wall: Millis): JsonValue {
  const { restarts, lastEnd } = look(pod);
  return restarts > 0 && lastEnd !== "" ? `${restarts} (${age(lastEnd, wall)} ago)` : String(restarts);
}

function readinessGates(pod: ApiObject): string {
  const gates = itemsAt(pod, "spec", "readinessGates");
  const open = gates.filter((gate) => hasCondition(pod, textAt(gate, "conditionType")));
  return gates.length === 0 ? "<none>" : `${open.length}/${gates.length}`;
}

/** The pod's state in one word: deletion first, then the containers' states, then the phase. */
function look(pod: ApiObject): Look {
  const phase = textAt(pod, "status", "phase");
  const sidecars = new Set(
    itemsAt(pod, "spec", "initContainers")
      .filter((container) => textAt(container, "restartPolicy") === "Always")
      .map((container) => textAt(container, "name")),
  );
  const init = lookAtInit(pod, sidecars);
  const running = init.blocked !== undefined && !hasCondition(pod, "Initialized") ? undefined : lookAtContainers(pod);
  const gated = itemsAt(pod, "status", "conditions").some(isSchedulingGated);
  const before = gated ? "SchedulingGated" : textAt(pod, "status", "reason") || phase;
  const counted = running === undefined ? init.all : [...init.sidecars, ...running.statuses];
  return {
    ready: init.ready + (running?.ready ?? 0),
    containers: itemsAt(pod, "spec", "containers").length + sidecars.size,
    status: deletionWord(pod, phase) ?? running?.word ?? init.blocked ?? before,
    restarts: counted.reduce<number>((sum, status) => sum + (numberAt(status, "restartCount") ?? 0), 0),
    lastEnd: counted.map((status) => textAt(status, "lastState", "terminated", "finishedAt")).reduce(later, ""),
  };
}

const later = (a: string, b: string): string => (a > b ? a : b);

const isSchedulingGated = (condition: JsonValue): boolean =>
  textAt(condition, "type") === "PodScheduled" && textAt(condition, "reason") === "SchedulingGated";

function deletionWord(pod: ApiObject, phase: string): string | undefined {
  if (pod.metadata.deletionTimestamp === undefined) return undefined;
  if (textAt(pod, "status", "reason") === "NodeLost") return "Unknown";
  return phase === "Succeeded" || phase === "Failed" ? undefined : "Terminating";
}

function lookAtInit(pod: ApiObject, sidecars: ReadonlySet<string>) {
  const all = itemsAt(pod, "status", "initContainerStatuses");
  const isSidecar = (status: JsonValue): boolean => sidecars.has(textAt(status, "name"));
  let ready = 0;
  let blocked: string | undefined;
  for (const [i, status] of all.entries()) {
    const ended = valueAt(status, "state", "terminated");
    if (isJsonObject(ended) && numberAt(ended, "exitCode") === 0) continue;
    if (isSidecar(status) && valueAt(status, "started") === true) {
      if (valueAt(status, "ready") === true) ready++;
      continue;
    }
    const waiting = textAt(status, "state", "waiting", "reason");
    if (isJsonObject(ended)) blocked = `Init:${endWord(ended)}`;
    else if (waiting !== "" && waiting !== "PodInitializing") blocked = `Init:${waiting}`;
    else blocked = `Init:${i}/${itemsAt(pod, "spec", "initContainers").length}`;
    break;
  }
  return { ready, blocked, all, sidecars: all.filter(isSidecar) };
}

function lookAtContainers(pod: ApiObject) {
  const statuses = itemsAt(pod, "status", "containerStatuses");
  let ready = 0;
  let word: string | undefined;
  let failure: string | undefined;
  // Statuses are read from last to first, so that the first container's state takes precedence.
  for (const status of statuses.toReversed()) {
    const waiting = textAt(status, "state", "waiting", "reason");
    const ended = valueAt(status, "state", "terminated");
    if (waiting !== "") word = waiting;
    else if (isJsonObject(ended)) {
      word = endWord(ended);
      if (numberAt(ended, "exitCode") !== 0) failure = word;
    } else if (valueAt(status, "ready") === true && isJsonObject(valueAt(status, "state", "running"))) ready++;
  }
  if (word === "Completed") {
    if (ready > 0) word = hasCondition(pod, "Ready") ? "Running" : (failure ?? "NotReady");
    else word = failure ?? word;
  }
  return { statuses, ready, word };
}

function endWord(ended: JsonValue): string {
  const signal = numberAt(ended, "signal") ?? 0;
  const code = signal === 0 ? `ExitCode:${numberAt(ended, "exitCode") ?? 0}` : `Signal:${signal}`;
  return textAt(ended, "reason") || code;
}
