import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");
const thisFile = path.relative(root, import.meta.filename);

/** All texts of the repository that people read: sources, cases, pages. */
const files = execFileSync("git", ["ls-files", "*.ts", "*.mjs", "*.json", "*.md", "*.yaml", "*.service"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && file !== thisFile && file !== "package-lock.json");

const textOf = (file: string): string => readFileSync(path.join(root, file), "utf8");

/** GitHub's anchor of a heading: lower case, without punctuation, blanks as dashes. */
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

/** Links from a page to another one, or to its own sections. */
const linksOf = (page: string): readonly Citation[] =>
  [...textOf(page).matchAll(/\]\(([^)\s#:]*)(?:#([A-Za-z0-9_-]+))?\)/g)].map(([, to = "", anchor]) => ({
    at: page,
    page: to === "" ? page : path.normalize(path.join(path.dirname(page), to)),
    anchor,
  }));

const isMissing = ({ page, anchor }: Citation): boolean =>
  !existsSync(path.join(root, page)) || (anchor !== undefined && page.endsWith(".md") && !anchorsOf(page).has(anchor));

const citationText = ({ at, page, anchor }: Citation): string =>
  `${at}: ${page}${anchor === undefined ? "" : `#${anchor}`}`;

test("every cited page and section exists", () => {
  const cited = files.flatMap(citationsOf);
  expect(cited.length).toBeGreaterThan(1000);
  expect(cited.filter(isMissing).map(citationText)).toEqual([]);
});

test("every link between pages has a target", () => {
  const links = files.filter((file) => file.endsWith(".md")).flatMap(linksOf);
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter(isMissing).map(citationText)).toEqual([]);
});

/** Comments of a source, or the whole text of a page. */
const proseOf = (file: string): readonly string[] =>
  file.endsWith(".md")
    ? [textOf(file)]
    : [...textOf(file).matchAll(/^\s*(?:\/\/|\/?\*+)(.*)$/gm)].map(([, text = ""]) => text);

const fileNames = new Set(files.map((file) => path.basename(file)));

/** A source is cited by its path, from the root, from agent/ or test/, or from the citing file; or by its name alone. */
const isSource = (cited: string, file: string): boolean =>
  cited.includes("/")
    ? ["", "agent", "test", path.dirname(file)].some((folder) => existsSync(path.join(root, folder, cited)))
    : fileNames.has(cited) || cited === "index.ts"; // ARCHITECTURE.md: there are none of that name.

test("every source that a comment or a page cites exists", () => {
  const cited = files
    .filter((file) => /\.(ts|mjs|md)$/.test(file) && file !== "CHANGELOG.md")
    .flatMap((file) =>
      proseOf(file)
        .flatMap((text) => [...text.matchAll(/(?<![\w./@-])(?:[\w.-]+\/)*[\w-]+(?:\.[\w-]+)*\.ts\b(?!\.\w)/g)])
        .map(([source]) => ({ file, source })),
    );
  expect(cited.length).toBeGreaterThan(100);
  expect(
    cited.filter(({ file, source }) => !isSource(source, file)).map(({ file, source }) => `${file}: ${source}`),
  ).toEqual([]);
});

test("sections of pages are never cited by number", () => {
  const bare =
    /\b(?:judgement|interfaces|budgets|kubernetes|architecture) \d+(?:\.\d+)+|\b(?:[Jj]udgement|[Ii]nterfaces) \d|"note": "\d+(?:\.\d+)*[ :,]/g;
  const found = files.flatMap((file) =>
    [...textOf(file).matchAll(bare)]
      .map(([text]) => `${file}: ${text}`)
      .filter((line) => !/kubernetes 1\.\d\d/.test(line)),
  );
  expect(found).toEqual([]);
});

test("every cited decision is in DECISIONS.md", () => {
  const decisions = new Set([...textOf("DECISIONS.md").matchAll(/^\*\*(D\d+)\./gm)].map(([, id]) => id));
  const cited = files.flatMap((file) =>
    [...textOf(file).matchAll(/(?:DECISIONS(?:\.md)?,? |\(|\[)(D\d{1,3})\b/g)].map(([, id]) => ({ file, id })),
  );
  expect(cited.length).toBeGreaterThan(20);
  expect(cited.filter(({ id }) => !decisions.has(id)).map(({ file, id }) => `${file}: ${id}`)).toEqual([]);
});

test("the index of DECISIONS.md lists each decision with its subject, and no number is used twice", () => {
  const [head = "", ...sections] = textOf("DECISIONS.md").split(/^## /m);
  const indexed = [...head.matchAll(/^\| \[([^\]]+)\]\([^)]*\) \| ([^|]+) \|$/gm)].map(([, subject, ids = ""]) => [
    subject,
    ids.split(", "),
  ]);
  const written = sections.map((section) => [
    section.split("\n")[0],
    [...section.matchAll(/^\*\*(D\d+)\./gm)].map(([, id]) => id),
  ]);
  expect(indexed).toEqual(written);
  const all = written.flatMap(([, ids]) => ids);
  expect(new Set(all).size).toBe(all.length);
});
