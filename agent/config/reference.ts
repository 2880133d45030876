import { wrap } from "../base/wrap.ts";
import { apiVersion, kind, variableOf } from "./load.ts";
import type { Entries, JsonSchema, Section, Setting } from "./schema.ts";
import { settings } from "./settings.ts";
import { settingsIn } from "./values.ts";

/** The reference as Markdown: one table per section. */
export function markdown(): string {
  const lines = [
    "# Settings",
    "",
    "Made from the list of settings by `siteward config reference`. Layers, the last one wins: defaults, firmware",
    "profile, `/etc/siteward/siteward.yaml`, `conf.d/*.yaml` beside it, environment variables.",
    "",
    `A file begins with \`apiVersion: ${apiVersion}\` and \`kind: ${kind}\`.`,
  ];
  const table = (section: Section<Entries>, path: readonly string[]): void => {
    const own = Object.entries(section.entries).filter(isSetting);
    const inner = Object.entries(section.entries).filter(isSection);
    if (path.length > 0) lines.push("", `## ${path.join(".")}`, "", section.sentence);
    if (own.length > 0) lines.push("", "| Setting | Default | Accepts | |", "|---|---|---|---|");
    for (const [name, setting] of own) {
      const shown = shownDefault(setting);
      const cells = [[...path, name].join("."), shown === "" ? "" : `\`${shown}\``, setting.accepts, setting.sentence];
      lines.push(`| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`);
    }
    for (const [name, section] of inner) table(section, [...path, name]);
  };
  table(settings, []);
  const [example] = [...settingsIn(settings)].filter(({ path }) => path === "nodeLifecycle.gracePeriod");
  if (example) lines.push("", `The variable of \`${example.path}\` is \`${variableOf(example.path)}\`, and so on.`);
  return `${lines.join("\n")}\n`;
}

/** The schema of the configuration file, for editors. */
export const fileSchema = (): JsonSchema => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "siteward configuration",
  type: "object",
  required: ["apiVersion", "kind"],
  additionalProperties: false,
  properties: { apiVersion: { const: apiVersion }, kind: { const: kind }, ...propertiesOf(settings) },
});

/** In the repository's JSON style: lists of plain values on one line. */
export const printSchema = (schema: JsonSchema): string =>
  `${JSON.stringify(schema, undefined, 2).replace(/\[\n([^[\]{}]*)\]/g, (_, items: string) => `[${items.trim().replace(/,\s+/g, ", ")}]`)}\n`;

/** The schema of the settings in a firmware profile. */
export const settingsSchema = (): JsonSchema => ({
  type: "object",
  additionalProperties: false,
  properties: propertiesOf(settings),
});

const propertiesOf = (section: Section<Entries>): JsonSchema =>
  Object.fromEntries(
    Object.entries(section.entries).map(([name, entry]) => [
      name,
      entry.kind === "setting"
        ? { description: entry.sentence, ...entry.json, ...defaultIn(entry) }
        : {
            description: entry.sentence,
            type: ["object", "null"],
            additionalProperties: false,
            properties: propertiesOf(entry),
          },
    ]),
  );

/** As written in the file: durations and sizes as text, numbers as numbers. */
function defaultIn(setting: Setting<unknown>): JsonSchema {
  const shown = shownDefault(setting);
  if (shown === "") return {};
  return { default: typeof setting.default === "number" && setting.json.type !== "string" ? setting.default : shown };
}

/**
 * Every setting at its default, as a comment: a file that spells the defaults out would keep them for ever, and would
 * overrule the board's firmware profile.
 */
export function example(): string {
  const lines = [
    "# Configuration of siteward. Every setting is shown at its default; remove the # in front of",
    "# those that you change.",
    "# Made by: siteward config example",
    `apiVersion: ${apiVersion}`,
    `kind: ${kind}`,
  ];
  const write = (section: Section<Entries>, indent: string): void => {
    for (const [name, entry] of Object.entries(section.entries)) {
      if (entry.kind === "section") {
        if (indent === "") lines.push("#");
        lines.push(...comment(entry.sentence, indent), `${indent}${name}:`);
        write(entry, `${indent}  `);
      } else {
        const shown = shownDefault(entry);
        if (indent === "") lines.push("#");
        lines.push(...comment(`${entry.sentence} It takes ${entry.accepts}.`, indent));
        lines.push(`${indent}# ${name}:${shown === "" ? "" : ` ${shown}`}`);
      }
    }
  };
  write(settings, "");
  return `${lines.join("\n")}\n`;
}

const comment = (text: string, indent: string): readonly string[] =>
  wrap(text, 100 - indent.length).map((line) => `${indent}# ${line}`);

const shownDefault = (setting: Setting<unknown>): string => setting.show(setting.default);

const isSetting = (entry: [string, Entries[string]]): entry is [string, Setting<unknown>] =>
  entry[1].kind === "setting";
const isSection = (entry: [string, Entries[string]]): entry is [string, Section<Entries>] =>
  entry[1].kind === "section";
