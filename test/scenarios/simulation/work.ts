import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Harm } from "./harm/harm.ts";
import type { Failure } from "./report.ts";
import type { Wishes } from "./schedule.ts";

export interface Order {
  readonly seed: number;
  readonly schedules: number;
  readonly jobs: number;
  /** The number of failures after which it stops. */
  readonly mostFailures: number;
  /** Whether it stops after this failure, however few there were. */
  readonly isEnough?: (failure: Failure) => boolean;
  readonly wishes: Wishes;
  /** The mutant of the agent, if any. */
  readonly mutant: string | undefined;
  readonly shrink: boolean;
  readonly trace: boolean;
  /** Sum up what the harmful acts were worth. */
  readonly tally: boolean;
}

/** The order for a worker process: every `step`-th seed from `first`. */
export interface Share extends Pick<Order, "wishes" | "mutant" | "shrink" | "trace" | "tally"> {
  readonly first: number;
  readonly step: number;
  readonly end: number;
}

export type Message = { readonly done: true; readonly harm: Harm | undefined } | { readonly failure: Failure };

const worker = path.join(import.meta.dirname, "worker.ts");

/** Plays schedules in separate processes, as many in parallel as there are jobs. */
export class Work {
  readonly failures: Failure[] = [];
  /** One for each schedule, if the order asks for it. */
  readonly harms: Harm[] = [];
  readonly #order: Order;
  #done = 0;

  constructor(order: Order) {
    this.#order = order;
  }

  get done(): number {
    return this.#done;
  }

  /** Waits until all have been played, or enough have failed. False if a process ended before playing its share. */
  async run(failed: (failure: Failure) => void): Promise<boolean> {
    const { seed, schedules, jobs, mostFailures, isEnough } = this.#order;
    const step = Math.max(1, Math.min(jobs, schedules));
    const processes = Array.from({ length: step }, (_, index) =>
      this.#start({ first: seed + index, step, end: seed + schedules }),
    );
    let isStopped = false;
    for (const child of processes) {
      child.on("message", (message: Message) => {
        if ("done" in message) {
          this.#done++;
          if (message.harm) this.harms.push(message.harm);
        } else if (!isStopped) {
          this.failures.push(message.failure);
          failed(message.failure);
          isStopped = this.failures.length >= mostFailures || isEnough?.(message.failure) === true;
          if (isStopped) for (const other of processes) other.kill();
        }
      });
    }
    const codes = await Promise.all(processes.map(async (child) => (await once(child, "exit"))[0]));
    return isStopped || codes.every((code) => code === 0);
  }

  #start(seeds: Pick<Share, "first" | "step" | "end">): ChildProcess {
    const { wishes, mutant, shrink, trace, tally } = this.#order;
    const share: Share = { ...seeds, wishes, mutant, shrink, trace, tally };
    return fork(worker, [JSON.stringify(share)], { execArgv: ["--max-semi-space-size=64"] });
  }
}
