import { spawnSync } from "node:child_process";
import { cpus, release, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { nodeFlags } from "../../agent/board/profile/runtime-flags.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { type Bench, type Figure, missed, table } from "./figure.ts";
import { idle } from "./idle.ts";
import { memory } from "./memory.ts";
import { memoryMax } from "./memory-max.ts";
import { monitorPass } from "./monitor-pass.ts";
import { restart } from "./restart.ts";
import { scale } from "./scale.ts";
import { silentBoards } from "./silent-boards.ts";
import { storage } from "./storage.ts";
import { watchEvents } from "./watch-events.ts";
import { watchList } from "./watch-list.ts";

const benches: readonly Bench[] = [
  storage,
  watchEvents,
  monitorPass,
  memory,
  memoryMax,
  restart,
  scale,
  silentBoards,
  watchList,
  idle,
];

/** The agent's code is compiled as it is in the agent. The limits of its heap are not ours: a bench holds its own load. */
const compiler = nodeFlags.filter((flag) => !/old-space|heap/.test(flag));
if (!compiler.every((flag) => process.execArgv.includes(flag))) {
  const { status } = spawnSync(process.execPath, [...compiler, ...process.argv.slice(1)], { stdio: "inherit" });
  process.exit(status ?? 1);
}

const help = `npm run bench [-- NAME…] [--json] [--quick] [--runs N] [--seed N]

${benches.map(({ name, summary }) => `  ${name.padEnd(14)} ${summary}`).join("\n")}

Without names, all of them. Those against a real API server need KUBEBUILDER_ASSETS; without it they are left out and
named. Every figure stands beside its target, and beside kube-controller-manager's where that was measured in the same run.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
    runs: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
  },
});

if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}
const unknown = positionals.find((name) => !benches.some((bench) => bench.name === name));
if (unknown !== undefined) {
  process.stderr.write(`bench: there is no bench "${unknown}"\n\n${help}`);
  process.exit(64);
}

const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  kernel: release(),
  arch: process.arch,
  node: process.version,
};
const seed = Number(values.seed);
const say = (line: string): void => void (values.json || process.stdout.write(`${line}\n`));
say(
  `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.arch}, Linux ${machine.kernel}, Node ${machine.node}, seed ${seed}`,
);

const results: { readonly bench: string; readonly figures: readonly Figure[]; readonly leftOut?: string }[] = [];
for (const bench of benches.filter(({ name }) => positionals.length === 0 || positionals.includes(name))) {
  const missing = (bench.kube ? missingAssets() : undefined) ?? bench.missing?.();
  if (missing !== undefined) {
    say(`\n${bench.name}: left out, ${missing}`);
    results.push({ bench: bench.name, figures: [], leftOut: missing });
    continue;
  }
  say(`\n${bench.name}: ${bench.summary}`);
  const figures: Figure[] = [];
  for await (const figure of bench.run({
    seed,
    runs: Number(values.runs),
    quick: values.quick,
    say: (line) => say(`  … ${line}`),
  }))
    figures.push(figure);
  say(table(figures));
  results.push({ bench: bench.name, figures });
}

const late = results.flatMap(({ bench, figures }) => figures.filter(missed).map(({ what }) => `${bench}: ${what}`));
if (values.json)
  process.stdout.write(
    `${JSON.stringify({ machine, seed, runs: Number(values.runs), results, missed: late }, null, 2)}\n`,
  );
else if (results.every(({ figures }) => figures.length === 0)) say("\nnothing was measured");
else
  say(late.length === 0 ? "\nevery target is met" : `\nmissed targets:\n${late.map((line) => `  ${line}`).join("\n")}`);
if (late.length > 0) process.exitCode = 1;
