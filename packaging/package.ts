import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { architectures, isArchitecture, ownArchitecture } from "./architectures.ts";
import { buildPackage } from "./build-package.ts";
import { releaseDate } from "./release-date.ts";
import { inMiB, isThere } from "./tools.ts";

const help = `Builds the Debian package: siteward_VERSION_ARCHITECTURE.deb

  npm run package -- [--arch arm64|amd64] [--out FOLDER]

  --arch   the processor (default: this machine's)
  --out    the folder for the package (default: the current one)
  --help   print this text

Needs dpkg-deb (part of dpkg on Debian and Ubuntu) and, for the other processor, its strip (binutils-aarch64-linux-gnu) or
llvm. npm fetches the other processor's Node in the version that package-lock.json pins. Every file in the package has the
time of the last commit, or SOURCE_DATE_EPOCH, so that the same sources give the same bytes.
`;

const root = path.resolve(import.meta.dirname, "..");
const say = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`package: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { arch: { type: "string" }, out: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const name = values.arch ?? ownArchitecture?.name ?? "";
  if (!isArchitecture(name))
    throw new Error(`--arch must be ${Object.keys(architectures).join(" or ")}, not "${name}"`);
  if (!isThere("dpkg-deb")) throw new Error("dpkg-deb is missing; on Debian and Ubuntu it is part of dpkg");
  const begun = performance.now();
  const released = await releaseDate(root, process.env);
  const file = await buildPackage({
    root,
    architecture: architectures[name],
    out: path.resolve(values.out ?? "."),
    released,
    say,
  });
  const seconds = Math.round((performance.now() - begun) / 1000);
  const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
  say(`${file}: ${inMiB(statSync(file).size)}, ${seconds} s`);
  say(`sha256 ${sum}`);
  return 0;
}
