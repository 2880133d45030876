import { Worker } from "node:worker_threads";
import { type Failure, inputOf, type Report, type Wanted } from "./fuzz.ts";
import type { Target } from "./target.ts";

/** The order for a worker: the module of the target, and the run. */
export interface Work extends Omit<Wanted, "at"> {
  readonly module: string;
  readonly name: string;
  /** The number of the current input. */
  readonly progress: SharedArrayBuffer;
}

/** Milliseconds after which an input counts as endless; only another thread can stop it. */
const longestInput = 20_000;
/** Heap limit of the worker in MB, so that a leak does not affect the machine. */
const heapMiB = 2048;

/** Runs a target in a separate thread; `module` exports it among its `targets`. */
export async function watched(
  target: Target,
  module: string,
  wanted: Wanted,
  patience = longestInput,
): Promise<Report> {
  const progress = new SharedArrayBuffer(4);
  const { seed, inputs, milliseconds, first } = wanted;
  const work: Work = { seed, inputs, milliseconds, first, module, name: target.name, progress };
  const worker = new Worker(new URL("worker.ts", import.meta.url), {
    workerData: work,
    resourceLimits: { maxOldGenerationSizeMb: heapMiB },
  });
  const counter = new Int32Array(progress);
  let [last, since] = [-1, performance.now()];
  return await new Promise<Report>((settle, fail) => {
    const timer = setInterval(() => {
      const now = Atomics.load(counter, 0);
      if (now !== last) [last, since] = [now, performance.now()];
      else if (performance.now() - since > patience) {
        clearInterval(timer);
        void worker.terminate().then(async () => settle(await endless(target, wanted, now)));
      }
    }, 250);
    worker.once("message", (report: Report) => {
      clearInterval(timer);
      const failures = report.failures.map((failure) => ({ ...failure, bytes: Buffer.from(failure.bytes) }));
      settle({ ...report, failures });
    });
    worker.once("error", (error) => {
      clearInterval(timer);
      fail(error);
    });
  });
}

async function endless(target: Target, { seed }: Wanted, input: number): Promise<Report> {
  const session = await target.open();
  try {
    const bytes = inputOf(target, session, seed, input);
    const failure: Failure = { kind: "endless", target: target.name, seed, input, why: "it never ended", bytes };
    return {
      target: target.name,
      inputs: input,
      taken: 0,
      milliseconds: 0,
      slowest: Number.POSITIVE_INFINITY,
      growth: 0,
      failures: [failure],
    };
  } finally {
    session.close?.();
  }
}
