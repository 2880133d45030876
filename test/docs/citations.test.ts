import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");
const thisFile = path.relative(root, import.meta.filename);

/** Every text of the repository that people read: sources, cases, pages. */
const files = execFileSync("git", ["ls-files", "*.ts", "*.mjs", "*.json", "*.md", "*.yaml", "*.service"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && file !== thisFile && file !== "package-lock.json");

const textOf = (file: string): string => readFileSync(path.join(root, file), "utf8");

/** As GitHub makes the anchor of a heading: lower case, punctuation left out, blanks as dashes. */
const slug = (heading: string): string =>
  heading
    .replaceAll(/[`*]/g, "")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");

const known = new Map<string, ReadonlySet<string>>();

function anchorsOf(page: string): ReadonlySet<string> {
  const found = known.get(page);
  if (found) return found;
  const anchors = new Set([...textOf(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => slug(heading)));
  known.set(page, anchors);
  return anchors;
}

interface Citation {
  readonly at: string;
  readonly page: string;
  readonly anchor: string | undefined;
}

/** `docs/page.md#anchor`, anywhere; further anchors of the same page may follow it as `, #anchor`. */
const citationsOf = (file: string): readonly Citation[] =>
  [
    ...textOf(file).matchAll(/\bdocs\/([a-z-]+\.md)(#[a-z0-9-]+)?((?: step \d+)?(?:, #[a-z0-9-]+(?: step \d+)?)*)/g),
  ].flatMap(([, name = "", first, more = ""]) =>
    [first, ...[...more.matchAll(/#[a-z0-9-]+/g)].map(([anchor]) => anchor)].map((anchor) => ({
      at: file,
      page: `docs/${name}`,
      anchor: anchor?.slice(1),
    })),
  );

/** Links of a page to another one, or to a place of its own. */
const linksOf = (page: string): readonly Citation[] =>
  [...textOf(page).matchAll(/\]\(([^)\s#:]*)(?:#([A-Za-z0-9_-]+))?\)/g)].map(([, to = "", anchor]) => ({
    at: page,
    page: to === "" ? page : path.normalize(path.join(path.dirname(page), to)),
    anchor,
  }));

const isMissing = ({ page, anchor }: Citation): boolean =>
  !existsSync(path.join(root, page)) || (anchor !== undefined && page.endsWith(".md") && !anchorsOf(page).has(anchor));

const told = ({ at, page, anchor }: Citation): string => `${at}: ${page}${anchor === undefined ? "" : `#${anchor}`}`;

test("every page and section that a comment, a case or a page cites exists", () => {
  const cited = files.flatMap(citationsOf);
  expect(cited.length).toBeGreaterThan(1000);
  expect(cited.filter(isMissing).map(told)).toEqual([]);
});

test("every link between the pages leads somewhere", () => {
  const links = files.filter((file) => file.endsWith(".md")).flatMap(linksOf);
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter(isMissing).map(told)).toEqual([]);
});

test("nothing cites the sections of a page by bare numbers", () => {
  const bare =
    /\b(?:judgement|interfaces|budgets|kubernetes|architecture) \d+(?:\.\d+)+|\b(?:judgement|interfaces) \d|"note": "\d+(?:\.\d+)*[ :,]/g;
  const found = files.flatMap((file) =>
    [...textOf(file).matchAll(bare)]
      .map(([text]) => `${file}: ${text}`)
      .filter((line) => !/kubernetes 1\.\d\d/.test(line)),
  );
  expect(found).toEqual([]);
});

test("every decision that is cited is in DECISIONS.md", () => {
  const decisions = new Set([...textOf("DECISIONS.md").matchAll(/^\*\*(D\d+)\./gm)].map(([, id]) => id));
  const cited = files.flatMap((file) =>
    [...textOf(file).matchAll(/(?:DECISIONS(?:\.md)?,? |\(|\[)(D\d{1,3})\b/g)].map(([, id]) => ({ file, id })),
  );
  expect(cited.length).toBeGreaterThan(20);
  expect(cited.filter(({ id }) => !decisions.has(id)).map(({ file, id }) => `${file}: ${id}`)).toEqual([]);
});
