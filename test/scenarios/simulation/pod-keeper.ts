import type { World } from "./edge.ts";
import { nodeOf } from "./recorder.ts";
import type { Board } from "./schedule.ts";

/** The tolerationSeconds of each pod of a board; undefined: without limit. */
export const tolerances: Readonly<Record<string, number | undefined>> = {
  brief: 0,
  short: 20,
  long: 60,
  lasting: undefined,
};

const every = 30_000;

/** Keeps four pods on every schedulable board, as their owners' controllers would. */
export class PodKeeper {
  readonly #world: World;
  readonly #boards: readonly Board[];
  #isOver = false;

  constructor(world: World, boards: readonly Board[]) {
    this.#world = world;
    this.#boards = boards;
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
    for (const { name: board } of this.#boards) {
      const text = api.stored(`nodes/${board}`);
      if (text === undefined) continue;
      const { ready, taints } = nodeOf(text, 0);
      if (ready !== "True" || taints.some((taint) => taint.endsWith(":NoExecute"))) continue;
      for (const [kind, seconds] of Object.entries(tolerances)) this.#keep(`${kind}-${board}`, board, seconds);
    }
  }

  #keep(name: string, board: string, seconds: number | undefined): void {
    const { api } = this.#world;
    if (api.stored(`pods/default/${name}`) !== undefined) return;
    const tolerations = ["not-ready", "unreachable"].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      ...(seconds !== undefined && { tolerationSeconds: seconds }),
    }));
    const spec = { nodeName: board, tolerations, containers: [{ name: "main", image: "main:1" }] };
    const body = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec });
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
