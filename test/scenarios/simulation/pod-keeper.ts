import type { World } from "./edge.ts";
import { nodeOf } from "./recorder.ts";
import type { Setting } from "./schedule.ts";

/** The tolerationSeconds of each pod of a board; undefined: without limit. */
export const tolerances: Readonly<Record<string, number | undefined>> = {
  brief: 0,
  short: 20,
  long: 60,
  lasting: undefined,
};

/**
 * Pods that no other board can take over: on boards with an even number the short one is of a StatefulSet, and on every
 * third board the long one is bound to its board.
 */
function pinOf(kind: string, board: number): "StatefulSet" | "board" | undefined {
  if (kind === "short" && board % 2 === 0) return "StatefulSet";
  return kind === "long" && board % 3 === 0 ? "board" : undefined;
}

/** Whether another board can take over the pod of a board that is dead. */
export function isMovable(pod: string, { pins }: Setting): boolean {
  if (!pins) return true;
  const [, kind = "", board = ""] = /^([a-z]+)-pi-(\d+)$/.exec(pod) ?? [];
  return pinOf(kind, Number(board)) === undefined;
}

const every = 30_000;

/** Keeps four pods on every schedulable board, as their owners' controllers would. */
export class PodKeeper {
  readonly #world: World;
  readonly #setting: Pick<Setting, "boards" | "pins">;
  #isOver = false;

  constructor(world: World, setting: Pick<Setting, "boards" | "pins">) {
    this.#world = world;
    this.#setting = setting;
  }

  start(): void {
    const { time } = this.#world;
    const next = (): void => {
      if (this.#isOver) return;
      this.#pass();
      time.at(time.now + every, next);
    };
    next();
  }

  stop(): void {
    this.#isOver = true;
  }

  #pass(): void {
    const { api } = this.#world;
    if (!api.isUp) return;
    const { boards, pins } = this.#setting;
    for (const { name: board, number } of boards) {
      const text = api.stored(`nodes/${board}`);
      if (text === undefined) continue;
      const { ready, taints } = nodeOf(text, 0);
      if (ready !== "True" || taints.some((taint) => taint.endsWith(":NoExecute"))) continue;
      for (const [kind, seconds] of Object.entries(tolerances)) {
        this.#keep(`${kind}-${board}`, { board, seconds, pin: pins ? pinOf(kind, number) : undefined });
      }
    }
  }

  #keep(
    name: string,
    { board, seconds, pin }: { board: string; seconds: number | undefined; pin: ReturnType<typeof pinOf> },
  ): void {
    const { api } = this.#world;
    if (api.stored(`pods/default/${name}`) !== undefined) return;
    const tolerations = ["not-ready", "unreachable"].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      ...(seconds !== undefined && { tolerationSeconds: seconds }),
    }));
    const term = { matchFields: [{ key: "metadata.name", operator: "In", values: [board] }] };
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } };
    const spec = {
      nodeName: board,
      tolerations,
      containers: [{ name: "main", image: "main:1" }],
      ...(pin === "board" && { affinity: { nodeAffinity: required } }),
    };
    const kind = pin === "StatefulSet" ? pin : "ReplicaSet";
    const owner = { apiVersion: "apps/v1", kind, name: "main", uid: `uid-${kind}`, controller: true };
    // A pod that tolerates everything needs no owner to be replaced by.
    const metadata = { name, namespace: "default", ...(seconds !== undefined && { ownerReferences: [owner] }) };
    const body = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, spec });
    const { status } = api.handle({
      method: "POST",
      path: "/api/v1/namespaces/default/pods",
      headers: { "content-type": "application/json" },
      body,
      signal: new AbortController().signal,
    });
    if (status !== 201) throw new Error(`pod ${name}: ${status}`);
  }
}
