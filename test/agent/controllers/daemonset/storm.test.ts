import { expect, test } from "vitest";
import type { Pod } from "../../../../agent/api/core.ts";
import { keyOf } from "../../../../agent/api/meta.ts";
import { controllerOf } from "../../../../agent/api/owners.ts";
import { controllerRevisions, daemonSets, nodes, pods } from "../../../../agent/api/resources.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { hashLabel, targetOf } from "../../../../agent/controllers/daemonset/daemon-pod.ts";
import { presentHash } from "../../../../agent/controllers/daemonset/history.ts";
import { node, taint } from "../../../support/builders.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { DaemonSite, set } from "./support/daemon-site.ts";

const names = Array.from({ length: 8 }, (_, index) => `n${index}`);

/** A site where everything happens at once; a kubelet starts most pods, ends some, and breaks others. */
class Storm {
  readonly daemon = new DaemonSite();
  readonly #random: SeededRandom;
  readonly #surge: boolean;
  #image = 1;
  #now = 0;

  constructor(seed: number, surge: boolean) {
    this.#random = new SeededRandom(seed);
    this.#surge = surge;
    this.daemon.boards(...names.slice(0, 5));
    this.daemon.put(this.#set());
  }

  async begin(): Promise<void> {
    await this.daemon.begin();
  }

  async step(): Promise<void> {
    const { api, refusals } = this.daemon.site;
    const board = this.#one(names);
    const all = api.all(pods);
    const pod = all.length > 0 ? this.#one(all) : undefined;
    switch (
      this.#one([
        "template",
        "join",
        "leave",
        "taint",
        "fail",
        "end",
        "delete",
        "unready",
        "relabel",
        "refuse",
        "accept",
        "hide",
      ])
    ) {
      case "template":
        this.#image = 1 + Math.floor(this.#random.next() * 3);
        this.daemon.put(this.#set());
        break;
      case "join":
        api.put(nodes, node(board));
        break;
      case "leave":
        api.remove(nodes, board);
        // Pod garbage collection does its part.
        for (const one of all) if (one.spec?.nodeName === board) api.remove(pods, keyOf(one));
        break;
      case "taint":
        if (api.find(nodes, board))
          api.put(nodes, node(board, { taints: [taint(this.#one(["x:NoSchedule", "x:NoExecute"]))] }));
        break;
      case "fail":
        if (pod) this.#says(pod, "Failed");
        break;
      case "end":
        if (pod) this.#says(pod, "Succeeded");
        break;
      case "delete":
        if (pod) api.remove(pods, keyOf(pod));
        break;
      case "unready":
        if (pod) this.#says(pod, "Running", "False");
        break;
      case "relabel":
        if (pod) api.put(pods, { ...pod, metadata: { ...pod.metadata, labels: { app: "other" } } });
        break;
      case "refuse":
        refusals.add({ reason: this.#one(["InternalError", "Timeout", "Forbidden"]), times: 3 });
        break;
      case "accept":
        refusals.clear();
        break;
      case "hide":
        if (pod) {
          api.show(pods, keyOf(pod), false);
          api.show(pods, keyOf(pod), true);
        }
        break;
    }
    await this.#pass(this.#random.next() * 3000);
  }

  /** Nothing happens any more but what has begun. */
  async calm(): Promise<void> {
    const { api, refusals } = this.daemon.site;
    refusals.clear();
    for (const one of api.all(nodes)) api.put(nodes, node(one.metadata.name));
    // The status shows a Node that went only when something else does: see the wakes.
    this.daemon.put({ ...this.#set(), metadata: { ...this.#set().metadata, labels: { calm: "yes" } } });
    for (let minute = 0; minute < 40; minute++) await this.#pass(60_000);
  }

  get mine(): readonly Pod[] {
    return this.daemon.site.api.all(pods).filter((pod) => controllerOf(pod)?.uid === "uid-agent");
  }

  async #pass(span: number): Promise<void> {
    for (let left = span; left > 0; left -= 1000) {
      this.#now += Math.min(1000, left);
      await this.daemon.run(this.#now);
      this.#kubelets();
    }
  }

  /** What is not bound is bound, what is bound runs. */
  #kubelets(): void {
    for (const pod of this.mine) {
      const board = targetOf(pod);
      if (pod.status?.phase === "Running" && pod.spec?.nodeName) {
        const isReady = pod.status.conditions?.some(({ status }) => status === "True");
        if (!isReady && this.#random.next() < 0.3) this.#says(pod, "Running", "True");
      } else if ((pod.status?.phase ?? "Pending") === "Pending" && board && this.daemon.site.api.find(nodes, board)) {
        this.#says({ ...pod, spec: { ...(pod.spec ?? { containers: [] }), nodeName: board } }, "Running", "True");
      }
    }
  }

  #says(pod: Pod, phase: string, ready = "False"): void {
    const lastTransitionTime = new Date(Date.parse("2026-01-01T00:00:00Z") + this.#now).toISOString();
    const status = { phase, conditions: [{ type: "Ready", status: ready, lastTransitionTime }] };
    this.daemon.site.api.put(pods, { ...pod, status });
  }

  #set() {
    const rollingUpdate = this.#surge ? { maxUnavailable: 0, maxSurge: 2 } : { maxUnavailable: 2, maxSurge: 0 };
    const before = this.daemon.site.api.find(daemonSets, "default/agent");
    const wanted = set({
      image: `agent:${this.#image}`,
      minReadySeconds: 2,
      revisionHistoryLimit: 1,
      updateStrategy: { type: "RollingUpdate", rollingUpdate },
    });
    const isSame = JSON.stringify(before?.spec) === JSON.stringify(wanted.spec);
    const generation = (before?.metadata.generation ?? 0) + (isSame ? 0 : 1);
    return {
      ...wanted,
      metadata: { ...wanted.metadata, generation },
      ...(before?.status && { status: before.status }),
    };
  }

  #one<T>(items: readonly T[]): T {
    const found = items[Math.floor(this.#random.next() * items.length)];
    if (found === undefined) throw new Error("nothing to choose from");
    return found;
  }
}

test.each([
  ["without surge", false],
  ["with surge", true],
])("each board has one pod of the current template again after any storm, %s", async (_, surge) => {
  for (let seed = 1; seed <= 6; seed++) {
    const storm = new Storm(seed, surge);
    await storm.begin();
    for (let step = 0; step < 60; step++) await storm.step();
    await storm.calm();
    const { daemon, mine } = storm;
    const boards = daemon.site.api.all(nodes).map(({ metadata }) => metadata.name);
    expect([...mine.map(targetOf)].sort(), `seed ${seed}`).toEqual(boards);
    const [present] = daemon.site.api.all(controllerRevisions).toSorted((a, b) => b.revision - a.revision);
    expect(new Set(mine.map(({ metadata }) => metadata.labels?.[hashLabel])), `seed ${seed}`).toEqual(
      new Set(boards.length > 0 ? [present?.metadata.labels?.[hashLabel] ?? atOnce(presentHash(daemon.set))] : []),
    );
    expect(daemon.site.api.all(controllerRevisions).length, `seed ${seed}`).toBeLessThanOrEqual(2);
    expect(daemon.set.status, `seed ${seed}`).toMatchObject({
      desiredNumberScheduled: boards.length,
      currentNumberScheduled: boards.length,
      updatedNumberScheduled: boards.length,
      numberAvailable: boards.length,
      numberMisscheduled: 0,
      observedGeneration: daemon.set.metadata.generation,
    });
  }
});
