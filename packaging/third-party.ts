import { readFileSync } from "node:fs";
import path from "node:path";

/** Third-party software in the package. */
export interface Module {
  readonly name: string;
  readonly version: string;
  /** The SPDX identifier. */
  readonly license: string;
}

/** The result of a search for advisories on one version of a module. It is valid until the version changes. */
export interface Review {
  readonly name: string;
  readonly version: string;
  /** The day of the review, in the form 2026-11-22. */
  readonly reviewed: string;
  readonly source: string;
  /** Advisories, including those about other versions. A state that begins with "open" concerns this version. */
  readonly known: readonly { readonly id: string; readonly affects: string; readonly state: string }[];
}

export interface PartOfNode {
  readonly name: string;
  readonly where: string;
  readonly license: string;
  /** False for tools that build or test Node, and for parts outside the shipped binary. */
  readonly shipped: boolean;
}

export interface ThirdParty {
  readonly modules: readonly Review[];
  readonly partsOfNode: readonly PartOfNode[];
}

/** Licenses that may be shipped together with code under Apache-2.0, each with its license text. */
const allowed: readonly string[] = [
  ...["Apache-2.0", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unicode-3.0", "Zlib"],
  // SQLite's blessing, which takes the place of a license.
  "blessing",
];

export const readThirdParty = (root: string): ThirdParty =>
  JSON.parse(readFileSync(path.join(root, "packaging/third-party.json"), "utf8")) as ThirdParty;

/** The parts of Node that its LICENSE names. */
const partsIn = (license: string): readonly string[] =>
  [...license.matchAll(/^- (.*?), located at (.*?), is licensed as follows:/gm)].map(
    ([, name, where]) => `${name} (${where})`,
  );

/** The reasons, as sentences, why these modules must not be shipped. */
export function problemsWith(
  modules: readonly Module[],
  nodeLicense: string,
  { modules: reviews, partsOfNode }: ThirdParty,
): readonly string[] {
  const problems: string[] = [];
  for (const { name, version, license } of modules) {
    if (!allowed.includes(license)) problems.push(`${name} ${version}: its license ${license} is not permitted`);
    const review = reviews.find((one) => one.name === name);
    if (review === undefined) problems.push(`${name} ${version}: no review of its advisories`);
    else if (review.version !== version)
      problems.push(`${name} ${version}: the advisories were reviewed for ${review.version}`);
  }
  for (const { name } of reviews)
    if (modules.every((one) => one.name !== name)) problems.push(`${name} is reviewed but not shipped`);
  for (const { name, license, shipped } of partsOfNode)
    if (shipped && !allowed.includes(license))
      problems.push(`${name} in Node.js: its license ${license} is not permitted`);
  const listed = partsOfNode.map(({ name, where }) => `${name} (${where})`);
  const found = partsIn(nodeLicense);
  for (const part of found) if (!listed.includes(part)) problems.push(`${part} in Node.js: it is not listed`);
  for (const part of listed) if (!found.includes(part)) problems.push(`${part}: Node.js no longer contains it`);
  return problems;
}

export const openIn = ({ modules }: ThirdParty): readonly string[] =>
  modules.flatMap(({ name, version, known }) =>
    known.filter(({ state }) => state.startsWith("open")).map(({ id, state }) => `${name} ${version}: ${id}: ${state}`),
  );

/** The text of docs/third-party.md, identical for all architectures and machines. */
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
  return `# Third-party software in the package

\`npm run third-party -- --write\` writes this page from \`packaging/third-party.json\`, \`package-lock.json\` and the
contents of the bundle; a test compares them. The license texts are in \`/usr/share/doc/siteward/copyright\` and, for
Node.js and its parts, in \`node.license.gz\` beside it.

| Module | Version | License | Advisories reviewed | Source |
|---|---|---|---|---|
${rows.join("\n")}

Parts of Node.js in its binary: ${parts(true)}.

Named in its license but not in the package: ${parts(false)}.

## Advisories

"fixed": the shipped version has the correction. "open": it does not; the sentence describes the consequences.

| Module | Advisory | Affects | State |
|---|---|---|---|
${known.join("\n")}
`;
}
