import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

/**
 * `npm run compare -- SCRIPT…`: plays the same story on two real clusters, kube-controller-manager's and ours, and
 * reports where their outcomes differ. Options of the comparison tool may precede the scripts; without a script it
 * plays its samples.
 */
const root = path.resolve(import.meta.dirname, "../..");
const tool = path.resolve(root, process.env.SITEWARD_COMPARE ?? "../shared/tools/compare");
if (!existsSync(path.join(tool, "compare.mjs"))) {
  process.stderr.write(`compare: no comparison tool in ${tool}; name its folder in SITEWARD_COMPARE\n`);
  process.exit(69);
}
const given = process.argv.slice(2);
const scripts =
  given.some((word) => /\.mjs$/.test(word) || existsSync(word)) || given.includes("--help")
    ? []
    : [path.join(tool, "samples")];
const wrapper = path.join(root, "test/support/compare-candidate");
const candidate = `${wrapper} --kubeconfig {kubeconfig} --options {options} --dir {dir}`;
const { status } = spawnSync(
  process.execPath,
  [path.join(tool, "compare.mjs"), "--candidate", candidate, ...given, ...scripts],
  { stdio: "inherit" },
);
process.exit(status ?? 2);
