import { readFileSync } from "node:fs";
import path from "node:path";

/** Software of others that the package holds. */
export interface Module {
  readonly name: string;
  readonly version: string;
  /** By SPDX. */
  readonly license: string;
}

/** The result of a search for advisories of one version of a module. It holds until the version changes. */
export interface Review {
  readonly name: string;
  readonly version: string;
  /** The day, as 2026-11-22. */
  readonly reviewed: string;
  readonly source: string;
  /** Advisories, also of other versions. A state that begins with "open" concerns this one. */
  readonly known: readonly { readonly id: string; readonly affects: string; readonly state: string }[];
}

export interface PartOfNode {
  readonly name: string;
  readonly where: string;
  readonly license: string;
  /** False: it builds or tests Node, or lies beside the binary that we ship. */
  readonly shipped: boolean;
}

export interface ThirdParty {
  readonly modules: readonly Review[];
  readonly partsOfNode: readonly PartOfNode[];
}

/** Licenses under which a part may be shipped beside code under Apache-2.0; each text goes along. */
export const allowed: readonly string[] = [
  ...["Apache-2.0", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unicode-3.0", "Zlib"],
  // SQLite's blessing in place of a license.
  "blessing",
];

export const readThirdParty = (root: string): ThirdParty =>
  JSON.parse(readFileSync(path.join(root, "packaging/third-party.json"), "utf8")) as ThirdParty;

/** The parts of Node as its own LICENSE names them. */
export const partsIn = (license: string): readonly string[] =>
  [...license.matchAll(/^- (.*?), located at (.*?), is licensed as follows:/gm)].map(
    ([, name, where]) => `${name} (${where})`,
  );

/** Why these modules may not be shipped as they are, in sentences. */
export function problemsWith(
  modules: readonly Module[],
  nodeLicense: string,
  { modules: reviews, partsOfNode }: ThirdParty,
): readonly string[] {
  const problems: string[] = [];
  for (const { name, version, license } of modules) {
    if (!allowed.includes(license))
      problems.push(`${name} ${version}: its license ${license} is not one that is allowed`);
    const review = reviews.find((one) => one.name === name);
    if (review === undefined) problems.push(`${name} ${version}: no review of its advisories`);
    else if (review.version !== version)
      problems.push(`${name} ${version}: the advisories were reviewed for ${review.version}`);
  }
  for (const { name } of reviews)
    if (modules.every((one) => one.name !== name)) problems.push(`${name} is reviewed, and not shipped`);
  for (const { name, license, shipped } of partsOfNode)
    if (shipped && !allowed.includes(license))
      problems.push(`${name} in Node.js: its license ${license} is not one that is allowed`);
  const listed = partsOfNode.map(({ name, where }) => `${name} (${where})`);
  const found = partsIn(nodeLicense);
  for (const part of found) if (!listed.includes(part)) problems.push(`${part} in Node.js: it is not in the list`);
  for (const part of listed) if (!found.includes(part)) problems.push(`${part}: Node.js does not hold it any more`);
  return problems;
}

export const openIn = ({ modules }: ThirdParty): readonly string[] =>
  modules.flatMap(({ name, version, known }) =>
    known.filter(({ state }) => state.startsWith("open")).map(({ id, state }) => `${name} ${version}: ${id}: ${state}`),
  );

/** docs/third-party.md: the same for each architecture and on each machine. */
export function thirdPartyPage(modules: readonly Module[], { modules: reviews, partsOfNode }: ThirdParty): string {
  const reviewOf = (name: string): Review | undefined => reviews.find((one) => one.name === name);
  const rows = modules.map(({ name, version, license }) => {
    const { reviewed = "never", source = "" } = reviewOf(name) ?? {};
    return `| ${name} | ${version} | ${license} | ${reviewed} | ${source} |`;
  });
  const known = reviews.flatMap(({ name, known }) =>
    known.map(({ id, affects, state }) => `| ${name} | ${id} | ${affects} | ${state} |`),
  );
  const parts = (shipped: boolean): string =>
    partsOfNode
      .filter((part) => part.shipped === shipped)
      .map(({ name, license }) => `${name} (${license})`)
      .join(", ");
  return `# What the package holds of others

\`npm run third-party -- --write\` writes this page from \`packaging/third-party.json\`, \`package-lock.json\` and what the
bundle took in; a test compares them. The texts of the licenses are in \`/usr/share/doc/siteward/copyright\` and, for
Node.js and its parts, in \`node.license.gz\` beside it.

| Module | Version | License | Advisories reviewed | Source |
|---|---|---|---|---|
${rows.join("\n")}

Parts of Node.js that are in its binary: ${parts(true)}.

Named in its license, and not in the package: ${parts(false)}.

## Advisories

"fixed": the version that is shipped has the correction. "open": it has not, and the sentence says what follows from that.

| Module | Advisory | Affects | State |
|---|---|---|---|
${known.join("\n")}
`;
}
