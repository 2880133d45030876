import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { shippedModules } from "./shipped-modules.ts";
import { type Module, openIn, problemsWith, readThirdParty, thirdPartyPage } from "./third-party.ts";
import { call } from "./tools.ts";

const help = `Checks licenses and advisories of all third-party software in the package.

  npm run third-party [-- --write]

  --write  write docs/third-party.md again
  --help   print this text

Requests advisories from npm, and reports it if the registry does not provide them. In either case, every module must have
a permitted license and, in packaging/third-party.json, a review of its exact version. Exits with 1 if something is missing
or npm reports an advisory, with 0 otherwise.
`;

const root = path.resolve(import.meta.dirname, "..");
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const { values } = parseArgs({ options: { write: { type: "boolean" }, help: { type: "boolean", short: "h" } } });
if (values.help) process.stdout.write(help);
else process.exitCode = await main();

async function main(): Promise<number> {
  const thirdParty = readThirdParty(root);
  const modules = await shippedModules(root);
  if (values.write) writeFileSync(path.join(root, "docs/third-party.md"), thirdPartyPage(modules, thirdParty));
  const license = readFileSync(path.join(root, `node_modules/node-linux-${process.arch}/LICENSE`), "utf8");
  const problems = [...problemsWith(modules, license, thirdParty), ...(await audited(modules))];
  for (const open of openIn(thirdParty)) say(`known: ${open}`);
  const oldest = thirdParty.modules.map(({ reviewed }) => reviewed).sort()[0];
  say(
    `${modules.length} modules and ${thirdParty.partsOfNode.length} parts of Node.js; the oldest review is of ${oldest}`,
  );
  for (const problem of problems) say(`PROBLEM: ${problem}`);
  return problems.length === 0 ? 0 : 1;
}

interface Audit {
  readonly message?: string;
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string; readonly via: readonly unknown[] }>>;
}

/** npm exits with 1 for a finding as well as for a failed request; only its output distinguishes them. */
async function npmAudit(): Promise<Audit> {
  try {
    return JSON.parse(await call("npm", ["audit", "--json"], { cwd: root })) as Audit;
  } catch (error) {
    const { stdout = "" } = (error as { readonly cause?: { readonly stdout?: string } }).cause ?? {};
    try {
      return JSON.parse(stdout) as Audit;
    } catch {
      return { message: error instanceof Error ? error.message : String(error) };
    }
  }
}

/** npm's advisories for shipped modules; those for tools are only printed. */
async function audited(modules: readonly Module[]): Promise<readonly string[]> {
  const audit = await npmAudit();
  if (audit.vulnerabilities === undefined) {
    const why = (audit.message ?? "no answer").replace(/\bhttps?:\S+/g, "the registry");
    say(`npm audit is not available (${why}); packaging/third-party.json alone decides`);
    return [];
  }
  const names = modules.map(({ name }) => name);
  return Object.entries(audit.vulnerabilities).flatMap(([name, { severity, via }]) => {
    const what = `npm audit: ${name}: ${severity}: ${JSON.stringify(via).slice(0, 300)}`;
    if (names.includes(name)) return [what];
    say(`for a tool, not shipped: ${what}`);
    return [];
  });
}
