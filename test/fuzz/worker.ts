import { parentPort, workerData } from "node:worker_threads";
import { fuzz } from "./fuzz.ts";
import type { Target } from "./target.ts";
import type { Work } from "./watched.ts";

const { module, name, progress, ...wanted } = workerData as Work;
const counter = new Int32Array(progress);
const { targets }: { readonly targets: readonly Target[] } = await import(module);
const target = targets.find((one) => one.name === name);
if (target === undefined) throw new Error(`there is no target ${name}`);
parentPort?.postMessage(await fuzz(target, { ...wanted, at: (input) => void Atomics.store(counter, 0, input) }));
