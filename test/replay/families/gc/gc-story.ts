import type { Node, Pod } from "../../../../agent/api/core.ts";
import { keyOf } from "../../../../agent/api/meta.ts";
import { podCondition } from "../../../../agent/api/pods.ts";
import { nodes, pods } from "../../../../agent/api/resources.ts";
import { podGC } from "../../../../agent/controllers/pod-gc/controller.ts";
import type { GcMemory, GcState } from "../../../../agent/controllers/pod-gc/decide.ts";
import type { ControlLoop } from "../../../../agent/loop/control-loop.ts";
import { MalformedCase } from "../../malformed.ts";
import type { Outcome } from "../../outcome.ts";
import { lifecycleSettings } from "../../settings.ts";
import { statusOf } from "../../shorthand.ts";
import { type CaseTime, ms } from "../../site/case-time.ts";
import { Site } from "../../site/site.ts";
import { taintFrom } from "../../site/taint-text.ts";
import type { Event, Given, GivenNode, GivenPod } from "./forms.ts";

const outOfService = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };

/** A site on which only pod garbage collection runs: boards are not judged. */
export class GcStory {
  readonly site: Site;
  readonly #time: CaseTime;
  readonly #loop: ControlLoop<GcState, GcMemory>;

  constructor(time: CaseTime, { nodes: boards = [], pods: given = [] }: Given, threshold: number) {
    this.site = new Site(time);
    this.#time = time;
    const verdictDeps = { settings: lifecycleSettings({}), judge: () => "no judge" as const };
    this.#loop = this.site.loopOf(podGC({ verdictDeps, terminatedThreshold: threshold }));
    for (const board of boards) this.#putNode(board);
    for (const pod of given) this.#putPod(pod);
  }

  async begin(): Promise<void> {
    this.site.start(this.#loop);
  }

  get waiting(): Outcome {
    const waiting = this.#loop.memoryOf("site")?.waiting ?? new Map();
    return Object.fromEntries([...waiting].map(([board, from]) => [board, ms(from)]));
  }

  get pods(): Outcome {
    return Object.fromEntries(
      this.site.api.all(pods).map((pod) => {
        const condition = podCondition(pod, "DisruptionTarget");
        const disrupted = condition && { status: condition.status, reason: condition.reason };
        return [keyOf(pod), { phase: pod.status?.phase, node: pod.spec?.nodeName, disrupted }];
      }),
    );
  }

  happen(event: Event): undefined {
    const { api, refusals } = this.site;
    switch (event.do) {
      case "createNode":
        this.#putNode(event.node);
        break;
      case "deleteNode":
        api.remove(nodes, this.#node(event.node).metadata.name);
        break;
      case "hideNode":
        api.show(nodes, this.#node(event.node).metadata.name, false);
        break;
      case "showNode":
        api.show(nodes, this.#node(event.node).metadata.name, true);
        break;
      case "ready": {
        const node = this.#node(event.node);
        api.put(nodes, { ...node, status: { ...node.status, conditions: readyConditions(event.ready) } });
        break;
      }
      case "createPod":
        this.#putPod(event.pod);
        break;
      case "deletePod":
        api.remove(pods, keyOf(this.#pod(event.pod)));
        break;
      case "phase": {
        const pod = this.#pod(event.pod);
        const reason = event.reason === undefined ? {} : { reason: event.reason };
        api.put(pods, { ...pod, status: { ...pod.status, phase: event.phase, ...reason } });
        break;
      }
      case "terminate": {
        const pod = this.#pod(event.pod);
        api.put(pods, { ...pod, metadata: { ...pod.metadata, deletionTimestamp: this.#stamp() } });
        break;
      }
      case "cut":
        api.cut(true);
        break;
      case "restore":
        api.cut(false);
        break;
      case "refuse": {
        const { pod, part, reason, times } = event;
        refusals.add({ reason, times, object: pod && keyOfPod(pod), part: part === "delete" ? "spec" : part });
        break;
      }
      case "refuseReads":
        api.unanswered.add(event.node);
        break;
      case "accept":
        refusals.clear();
        api.unanswered.clear();
        break;
      case "look":
        break;
      default:
        event satisfies never;
    }
    return undefined;
  }

  #putNode({ name, ready = "T", taints = [], outOfService: isOut = false, cached = true }: GivenNode): void {
    const { api } = this.site;
    api.put(nodes, {
      metadata: { name },
      spec: { taints: [...taints.map(taintFrom), ...(isOut ? [outOfService] : [])] },
      status: { conditions: readyConditions(ready) },
    });
    if (!cached) api.show(nodes, name, false);
  }

  #putPod({
    name,
    node,
    phase = "Running",
    reason,
    createdMs = 0,
    terminating,
    generation,
    disrupted,
  }: GivenPod): void {
    const [namespace, rest] = keyOfPod(name).split("/");
    this.site.api.put(pods, {
      metadata: {
        name: rest,
        namespace,
        creationTimestamp: this.#time.stamp(createdMs),
        ...(generation !== undefined && { generation }),
        ...(terminating && { deletionTimestamp: this.#stamp() }),
      },
      spec: { containers: [], ...(node !== undefined && { nodeName: node }) },
      status: { ...(phase !== "" && { phase }), ...(reason && { reason }), conditions: disrupted ? [disruption] : [] },
    });
  }

  #stamp(): string {
    return this.#time.stamp(this.site.clock.now().mono);
  }

  #node(name: string): Node {
    const found = this.site.api.find(nodes, name);
    if (found) return found;
    throw new MalformedCase([`there is no Node ${JSON.stringify(name)} at that time`]);
  }

  #pod(name: string): Pod {
    const found = this.site.api.find(pods, keyOfPod(name));
    if (found) return found;
    throw new MalformedCase([`there is no pod ${JSON.stringify(name)} at that time`]);
  }
}

const readyConditions = (ready: NonNullable<GivenNode["ready"]>): readonly object[] => {
  const status = statusOf(ready);
  return status === undefined ? [] : [{ type: "Ready", status }];
};

const disruption = {
  type: "DisruptionTarget",
  status: "True",
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};

export const keyOfPod = (name: string): string => (name.includes("/") ? name : `default/${name}`);
