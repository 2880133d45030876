import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import Sqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { parseAst } from "vitest/node";
import type { Migration } from "../../storage/database/migrations.ts";
import { siteMigrations } from "../../storage/revision-log.ts";
import { cacheMigrations, stateMigrations } from "../../storage/schema.ts";

/**
 * `prepare<Row>(sql)` believes its caller. These tests read each call in the sources, prepare its SQL in a new file, and
 * compare the names of its columns with the fields of `Row`.
 */
const root = path.resolve(import.meta.dirname, "../..");
const files = ["storage", "agent", "simulator"]
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => path.join(folder, file)),
  )
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"));

/** SQL that is composed when the program runs. The Database would keep that of `prepare` for ever. */
const composed = [
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is source text
  "storage/database/give-back.ts: prepareOnce(`PRAGMA ${of}`)",
  "storage/decision-log.ts: prepareOnce(sql)",
  "storage/file-walk.ts: prepareOnce(first)",
  "storage/file-walk.ts: prepareOnce(further)",
];

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [part: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;

function* nodesIn(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const part of value) yield* nodesIn(part);
  else if (isNode(value)) {
    yield value;
    for (const part of Object.values(value)) yield* nodesIn(part);
  }
}

class Source {
  readonly name: string;
  readonly text: string;
  readonly nodes: readonly Node[];

  constructor(name: string) {
    this.name = name;
    this.text = readFileSync(path.join(root, name), "utf8");
    this.nodes = [...nodesIn(parseAst(this.text, { lang: "ts" }))];
  }

  /** The values that a constant expression may have; undefined if it depends on anything else. */
  textsOf(expression: Node): readonly string[] | undefined {
    switch (expression.type) {
      case "Literal":
        return [String(expression.value)];
      case "TemplateLiteral":
        return this.#joined(expression);
      case "Identifier":
        return this.#constant(expression);
      default:
        return undefined;
    }
  }

  #joined({ quasis, expressions }: Node): readonly string[] | undefined {
    let text = "";
    for (const [index, quasi] of (quasis as readonly Node[]).entries()) {
      text += (quasi.value as { cooked: string }).cooked;
      const expression = (expressions as readonly Node[])[index];
      const [value, ...others] = expression === undefined ? [""] : (this.textsOf(expression) ?? []);
      if (value === undefined || others.length > 0) return undefined;
      text += value;
    }
    return [text];
  }

  /** The constant of that name: the nearest above its use, or else one of the module; or the list that a loop reads. */
  #constant({ name, start }: Node): readonly string[] | undefined {
    const isOfName = ({ id }: Node): boolean => (id as Node).name === name;
    const declarations = this.nodes.filter((node) => node.type === "VariableDeclarator" && isOfName(node));
    const declared = declarations.findLast((node) => node.start < start) ?? declarations[0];
    if (isNode(declared?.init)) return this.textsOf(declared.init);
    const loop = this.nodes.findLast(
      ({ type, left }) => type === "ForOfStatement" && ((left as Node).declarations as readonly Node[]).some(isOfName),
    );
    const elements = (loop?.right as Node | undefined)?.elements;
    return Array.isArray(elements) ? elements.flatMap((element: Node) => this.textsOf(element) ?? []) : undefined;
  }

  fieldsOf(type: Node): readonly string[] {
    switch (type.type) {
      case "TSTypeLiteral":
        return namesOf(type.members);
      case "TSIntersectionType":
        return (type.types as readonly Node[]).flatMap((part) => this.fieldsOf(part));
      case "TSTypeReference":
        return this.#named(type);
      default:
        throw new Error(`${this.name}: a row of the type ${this.shown(type)}`);
    }
  }

  #named({ typeName, typeArguments }: Node): readonly string[] {
    const name = String((typeName as Node).name);
    if (name === "Pick") {
      const [, keys] = (typeArguments as Node).params as readonly Node[];
      const literals = keys?.type === "TSUnionType" ? (keys.types as readonly Node[]) : [keys];
      return literals.map((literal) => String(((literal as Node).literal as Node).value));
    }
    const found = this.nodes.find(
      ({ type, id }) =>
        (type === "TSInterfaceDeclaration" || type === "TSTypeAliasDeclaration") && (id as Node).name === name,
    );
    if (found?.type === "TSTypeAliasDeclaration") return this.fieldsOf(found.typeAnnotation as Node);
    if (found !== undefined) {
      const inherited = (found.extends as readonly Node[]).flatMap(({ expression }) =>
        this.#named({ ...(expression as Node), typeName: expression }),
      );
      return [...inherited, ...namesOf((found.body as Node).body)];
    }
    const from = this.nodes.find(
      ({ type, specifiers }) =>
        type === "ImportDeclaration" &&
        (specifiers as readonly Node[]).some(({ local }) => (local as Node).name === name),
    );
    if (from === undefined) throw new Error(`${this.name}: a row of the unknown type ${name}`);
    const source = new Source(path.join(path.dirname(this.name), String((from.source as Node).value)));
    return source.#named({ type: "TSTypeReference", start: 0, end: 0, typeName, typeArguments });
  }

  shown = ({ start, end }: Node): string => this.text.slice(start, end);
}

const namesOf = (members: unknown): readonly string[] =>
  (members as readonly Node[]).map(({ key }) => String((key as Node).name ?? (key as Node).value));

interface Prepared {
  readonly file: string;
  readonly sql: string;
  /** The fields of `Row`; undefined if no type is given, because nothing is read. */
  readonly fields: readonly string[] | undefined;
}

const unresolved: string[] = [];
const statements: readonly Prepared[] = files
  .filter((file) => /\.prepare(?:Once)?[<(]/.test(readFileSync(path.join(root, file), "utf8")))
  .map((file) => new Source(file))
  .flatMap((source) =>
    source.nodes.filter(isPrepare).flatMap((call): readonly Prepared[] => {
      const [argument] = call.arguments as readonly Node[];
      const texts = argument && source.textsOf(argument);
      if (argument === undefined || texts === undefined) {
        const { property } = call.callee as Node & { readonly property: Node };
        unresolved.push(`${source.name}: ${property.name}(${argument && source.shown(argument)})`);
        return [];
      }
      const row = isNode(call.typeArguments) ? (call.typeArguments.params as readonly Node[])[0] : undefined;
      return texts.map((sql) => ({ file: source.name, sql, fields: row && source.fieldsOf(row) }));
    }),
  );

/** Calls of a Database. Code that opens a driver itself also reads files of other versions. */
function isPrepare({ type, callee }: Node): boolean {
  if (type !== "CallExpression" || !isNode(callee) || callee.type !== "MemberExpression") return false;
  const { object, property } = callee as Node & { readonly object: Node; readonly property: Node };
  const isOfDriver = object.name === "driver" || (isNode(object.property) && object.property.name === "driver");
  const isOwn = object.type === "ThisExpression";
  return (property.name === "prepare" || property.name === "prepareOnce") && !isOfDriver && !isOwn;
}

interface Columns {
  readonly reader: boolean;
  columns(): readonly { readonly name: string }[];
}

const databases = [cacheMigrations, stateMigrations, siteMigrations].map((steps: readonly Migration[]) => {
  const driver = new Sqlite(":memory:", { timeout: 0 });
  for (const { sql } of steps) driver.exec(sql);
  return driver;
});

/** The columns of the statement's rows, in the file that has its tables; none if it returns no rows. */
function columnsOf(sql: string): readonly string[] {
  const errors: unknown[] = [];
  for (const driver of databases) {
    try {
      const statement = driver.prepare(sql) as unknown as Columns;
      return statement.reader ? statement.columns().map(({ name }) => name) : [];
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(errors, `no file of ours has the tables for ${sql}`);
}

describe("each statement in the sources", () => {
  test("is a constant, or prepared once", () => {
    expect(statements.length).toBeGreaterThan(100);
    expect([...new Set(unresolved)].sort()).toEqual(composed);
  });

  test.each(statements.map((statement) => [statement.file, statement.sql.replaceAll(/\s+/g, " "), statement] as const))(
    "%s: %s",
    (_file, _text, { sql, fields }) => {
      const columns = columnsOf(sql);
      if (fields !== undefined) expect(columns.toSorted()).toEqual(fields.toSorted());
    },
  );
});
