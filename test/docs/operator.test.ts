import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parse } from "../../agent/cli/parse.ts";
import { checksNamed } from "../../agent/doctor/examination.ts";
import { blocks, operatorDocs } from "../support/operator-docs.ts";

/** The words of one shell command: without quotes, up to a redirection or the next command. */
function words(command: string): readonly string[] {
  const found = [...command.matchAll(/'([^']*)'|"([^"]*)"|(&&|[|>;])|([^\s'"|>;]+)/g)];
  const end = found.findIndex(([, , , operator]) => operator !== undefined);
  return (end < 0 ? found : found.slice(0, end)).map(([, single, double, , plain]) => single ?? double ?? plain ?? "");
}

/** All siteward command lines on the page: in blocks, in the text, after sudo. */
const commands = (): readonly string[] =>
  [
    ...blocks("sh").flatMap((block) =>
      block
        .replaceAll("\\\n", "")
        .split("\n")
        .flatMap((line) => line.split(/&& /)),
    ),
    ...[...operatorDocs().matchAll(/`((?:sudo )?siteward [^`…]+)`/g)].map(([, command = ""]) => command),
  ]
    .map((line) => line.trim().replace(/^sudo /, ""))
    .filter((line) => line.startsWith("siteward "));

test("every command on the page is valid", () => {
  const found = commands();
  expect(found.length).toBeGreaterThan(25);
  const refused = found.flatMap((command) => {
    const request = parse(words(command).slice(1));
    return request.do === "refuse" ? [`${command}: ${request.problem}`] : [];
  });
  expect(refused).toEqual([]);
});

test("every doctor check that the page names exists", () => {
  const asked = [...operatorDocs().matchAll(/--only ([a-z.,]+)/g)].flatMap(([, list = ""]) => list.split(","));
  expect(asked.length).toBeGreaterThan(3);
  expect(asked.filter((word) => checksNamed(word).length === 0)).toEqual([]);
});

test("the page explains each problem that a status can have, and no others", () => {
  const sources = (folder: string): readonly string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const at = path.join(folder, entry.name);
      return entry.isDirectory() ? sources(at) : entry.name.endsWith(".ts") ? [readFileSync(at, "utf8")] : [];
    });
  const code = sources(path.resolve(import.meta.dirname, "../../agent")).join("\n");
  const table = operatorDocs().slice(operatorDocs().indexOf("| The status says | Do |"));
  const explained = [...table.slice(0, table.indexOf("**The doctor**")).matchAll(/`([A-Z][a-z]+[A-Z][A-Za-z]+)`/g)].map(
    ([, type = ""]) => type,
  );
  expect(explained.length).toBeGreaterThan(25);
  expect(explained.filter((type) => !code.includes(`"${type}"`))).toEqual([]);
  const types = [...code.matchAll(/type: "([A-Z][A-Za-z]+)",\s*(?:subject(?:: [^\n]+)?,\s*)?severity\b/g)].map(
    ([, type = ""]) => type,
  );
  expect(types.length).toBeGreaterThan(50);
  expect([...new Set(types)].filter((type) => !explained.includes(type))).toEqual([]);
});
