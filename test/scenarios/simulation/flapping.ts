import type { Millis } from "../../../agent/base/clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { Fleet } from "./fleet.ts";

const minute: Millis = 60_000;
const churnEvery: Millis = 10_000;
const churned = 40;

/** A leader and a follower whose links are cut every few minutes, for 5 s to 5 min, while pods are created, changed and deleted. */
export class FlappingSite {
  readonly fleet: Fleet;
  readonly #random: SeededRandom;
  #cuts = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed ^ 0xf1a9);
    this.fleet = new Fleet({ sites: 1, boardsPerSite: 2, standby: "warm", seed });
  }

  get cuts(): number {
    return this.#cuts;
  }

  start(): void {
    this.fleet.boot();
    for (const board of this.fleet.boards) this.#again(2 * minute, 6 * minute, () => this.#cut(board));
    this.#again(churnEvery, churnEvery, () => this.#churn());
  }

  #again(least: Millis, most: Millis, run: () => Millis): void {
    const { time } = this.fleet;
    const pause = least + this.#random.next() * (most - least);
    time.at(time.now + pause, () => {
      const takes = run();
      time.at(time.now + takes, () => this.#again(least, most, run));
    });
  }

  #cut(board: Fleet["boards"][number]): Millis {
    this.#cuts++;
    const is = this.#random.next() < 0.5 ? "silent" : "refused";
    const healing = this.#random.next() < 0.5 ? "late" : "reset";
    const length = 5000 * 60 ** this.#random.next();
    const mends = [board.agentEdge, board.kubeletEdge].map((edge) => edge.impair({ is }, healing));
    this.fleet.time.at(this.fleet.time.now + length, () => {
      for (const mend of mends) mend();
    });
    return length;
  }

  /** Creates, changes or deletes a pod. */
  #churn(): Millis {
    const { api, boards } = this.fleet;
    const name = `churn-${this.#random.integer(churned)}`;
    const collection = "/api/v1/namespaces/default/pods";
    const ask = (method: string, path: string, body?: object, type = "application/json"): number =>
      api.handle({
        method,
        path,
        headers: { "content-type": type },
        signal: new AbortController().signal,
        ...(body && { body: JSON.stringify(body) }),
      }).status;
    const on = boards[this.#random.integer(boards.length)];
    if (api.stored(`pods/default/${name}`) === undefined) {
      const spec = { nodeName: on?.plate.name, containers: [{ name: "main", image: "main:1" }] };
      ask("POST", collection, { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec });
    } else if (this.#random.next() < 0.5) {
      const labels = { changed: String(this.#random.integer(1_000_000)) };
      ask("PATCH", `${collection}/${name}`, { metadata: { labels } }, "application/merge-patch+json");
    } else {
      ask("DELETE", `${collection}/${name}?gracePeriodSeconds=0`);
    }
    return 0;
  }
}
