import { optionsOf } from "../support/options.ts";
import type { Failure, Report } from "./fuzz.ts";
import { targets } from "./targets.ts";
import { watched } from "./watched.ts";

const help = `Reads damaged input with everything that reads what comes from outside.

  npm run fuzz -- [--inputs N] [--seconds N] [--seed S] [--target NAME]... [--input K]

  --inputs N     so many inputs in all, shared among the targets (1000000)
  --seconds N    no longer than that, likewise shared
  --seed S       the same inputs again (the time, printed)
  --target NAME  this target alone; may be given again
  --input K      one input alone, with the seed and the target of a failure
  --list         the names of the targets

A failure is an error that is not the reader's own, a promise that it broke, more than 50 ms for one input, one that never
ends, and a heap that grows. It is printed with what shows it again, and with an input as small as it still fails.
Ends with 1 when there was one, or if the time did not suffice for every target.
`;

const values = optionsOf(help, {
  inputs: { type: "string", default: "1000000" },
  seconds: { type: "string" },
  seed: { type: "string" },
  target: { type: "string", multiple: true },
  input: { type: "string" },
  list: { type: "boolean", default: false },
});

if (values.list) {
  process.stdout.write(`${targets.map(({ name }) => name).join("\n")}\n`);
  process.exit(0);
}

function whole(name: "inputs" | "seconds" | "seed" | "input", standard: number): number {
  const written = values[name];
  const value = written === undefined ? standard : Number(written);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  process.stderr.write(`fuzz: --${name} ${written} is not a whole number\n`);
  process.exit(64);
}

const unknown = values.target?.find((name) => !targets.some((target) => target.name === name));
if (unknown !== undefined) {
  process.stderr.write(`fuzz: there is no target "${unknown}"; --list names them\n`);
  process.exit(64);
}
const chosen = targets.filter(({ name }) => values.target === undefined || values.target.includes(name));
const [seed, inputs] = [whole("seed", Date.now() % 2 ** 31), whole("inputs", 1_000_000)];
const seconds = values.seconds === undefined ? undefined : whole("seconds", 0);
const only = values.input === undefined ? undefined : whole("input", 0);
const module = new URL("targets.ts", import.meta.url).href;
const shares = chosen.reduce((sum, { share = 100 }) => sum + share, 0);

process.stdout.write(`seed ${seed}\n`);
const reports: Report[] = [];
const begun = performance.now();
for (const [index, target] of chosen.entries()) {
  // The remaining targets get the unused time of earlier ones.
  const left =
    seconds === undefined ? undefined : (seconds * 1000 - (performance.now() - begun)) / (chosen.length - index);
  const amount = only === undefined ? Math.ceil((inputs * (target.share ?? 100)) / shares) : 1;
  const report = await watched(target, module, { seed, inputs: amount, milliseconds: left, first: only });
  reports.push(report);
  process.stdout.write(`${lineOf(report)}\n`);
  for (const failure of report.failures) process.stdout.write(`${failureText(failure)}\n`);
}

const count = reports.reduce((sum, report) => sum + report.inputs, 0);
const failed = reports.reduce((sum, { failures }) => sum + failures.length, 0);
const took = Math.round((performance.now() - begun) / 1000);
process.stdout.write(`${count} inputs of ${chosen.length} targets in ${took} s, seed ${seed}: ${failed} failures\n`);
const unread = reports.filter((report) => report.inputs === 0).map(({ target }) => target);
if (unread.length > 0)
  process.stdout.write(`not enough time: ${unread.length} targets read nothing: ${unread.join(", ")}\n`);
process.exitCode = failed > 0 || unread.length > 0 ? 1 : 0;

function lineOf({ target, inputs, taken, milliseconds, slowest, growth }: Report): string {
  const columns = [
    target.padEnd(26),
    `${inputs}`.padStart(8),
    `${Math.round((100 * taken) / Math.max(1, inputs))} % taken`.padStart(12),
    `${Math.round((1000 * inputs) / Math.max(1, milliseconds))} /s`.padStart(10),
    `slowest ${slowest.toFixed(1)} ms`.padStart(18),
    `heap ${growth < 0 ? "-" : "+"}${(Math.abs(growth) / 2 ** 20).toFixed(1)} MiB`.padStart(16),
  ];
  return columns.join("");
}

function failureText({ kind, target, seed, input, why, bytes }: Failure): string {
  const again = `npm run fuzz -- --target ${target} --seed ${seed} --input ${input}`;
  const shown =
    bytes.length > 2000
      ? `${JSON.stringify(bytes.toString("latin1", 0, 300))}… (${bytes.length} bytes)`
      : JSON.stringify(bytes.toString("latin1"));
  return `  ${kind}: ${why}\n    ${kind === "growth" ? again.replace(/ --input.*/, ` --inputs ${input + 1}`) : again}\n    ${shown}`;
}
