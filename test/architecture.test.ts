import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

/**
 * Who may import whom. A folder lists every other folder of ours that it may import; `types` are those of which it may
 * import only types, and `types+pure` those whose named files are pure functions. Nothing here means: nothing of ours.
 */
interface Layer {
  readonly may: readonly string[];
  readonly types?: readonly string[];
}

const layers: Readonly<Record<string, Layer>> = {
  storage: { may: [] },
  "agent/base": { may: [] },
  "agent/api": { may: ["agent/base"] },
  "agent/config": { may: ["agent/base"] },
  "agent/client": { may: ["agent/base", "agent/api"] },
  "agent/board": { may: ["agent/base", "agent/config"] },
  "agent/informer": { may: ["agent/base", "agent/api", "agent/client", "storage"] },
  "agent/decisions": { may: ["agent/base", "storage"] },
  "agent/execution": { may: ["agent/base", "agent/api", "agent/client", "agent/decisions", "agent/informer"] },
  "agent/election": { may: ["agent/base", "agent/api", "agent/client", "agent/execution", "agent/informer"] },
  "agent/loop": {
    may: ["agent/base", "agent/api", "agent/client", "agent/informer", "agent/execution"],
    types: ["agent/decisions"],
  },
  "agent/holds": { may: ["agent/base", "agent/election"] },
  "agent/shadow": {
    may: ["agent/base", "agent/api", "agent/client", "agent/informer", "agent/execution", "agent/holds", "agent/loop"],
    types: ["agent/decisions"],
  },
  "agent/site": {
    may: ["agent/base", "agent/api", "agent/client", "agent/informer", "agent/election", "agent/loop", "storage"],
  },
  "agent/judgement": { may: ["agent/base", "agent/api"], types: ["agent/client", "agent/decisions", "agent/informer"] },
  "agent/witness": { may: ["agent/base", "agent/api", "agent/config", "agent/judgement"] },
  "agent/controllers": {
    may: ["agent/base", "agent/api", "agent/judgement"],
    types: ["agent/config", "agent/decisions", "agent/informer", "agent/loop", "agent/execution", "agent/holds"],
  },
  "agent/status": { may: ["agent/base", "agent/config"] },
  "agent/commands/desk": {
    may: ["agent/base", "agent/config", "agent/board", "storage"],
    types: ["agent/status"],
  },
  "agent/commands/operator-api": { may: ["agent/base", "agent/commands/desk", "agent/status"] },
  "agent/fleet": {
    may: ["agent/base", "agent/config", "agent/board", "storage"],
    types: ["agent/status", "agent/commands/desk", "agent/decisions"],
  },
  "agent/doctor": {
    may: [
      "agent/base",
      "agent/api",
      "agent/client",
      "agent/config",
      "agent/board",
      "agent/site",
      "agent/status",
      "agent/fleet",
      "agent/witness",
      "storage",
    ],
  },
  "agent/enroll": { may: ["agent/base", "agent/client", "agent/config", "agent/fleet"] },
  "agent/leading": { may: ["*"] },
  "agent/upkeep": { may: ["agent/base", "agent/config", "agent/board", "storage"] },
  "agent/release": {
    may: [
      "agent/base",
      "agent/api",
      "agent/board",
      "agent/client",
      "agent/controllers",
      "agent/election",
      "agent/site",
    ],
    types: ["agent/informer"],
  },
  "agent/commands/operations": {
    may: [
      "agent/base",
      "agent/api",
      "agent/board",
      "agent/client",
      "agent/commands/desk",
      "agent/config",
      "agent/controllers",
      "agent/decisions",
      "agent/election",
      "agent/execution",
      "agent/holds",
      "agent/leading",
      "agent/loop",
      "agent/site",
      "storage",
    ],
    types: ["agent/status"],
  },
  "agent/companions": {
    may: [
      "agent/base",
      "agent/api",
      "agent/client",
      "agent/config",
      "agent/board",
      "agent/status",
      "agent/commands/desk",
      "agent/commands/operations",
      "agent/commands/operator-api",
      "agent/fleet",
      "agent/doctor",
      "agent/upkeep",
      "agent/judgement",
      "agent/witness",
      "storage",
    ],
    types: ["agent/assembly", "agent/decisions"],
  },
  "agent/assembly": { may: ["*"] },
  "agent/process": { may: ["*"] },
  simulator: { may: ["agent/base", "agent/api", "storage"] },
  "agent/cli": { may: ["*"] },
  "agent/main.ts": { may: ["*"] },
};

/** ARCHITECTURE.md gives each folder a rank; a folder imports none of a higher rank, except types where it lists them. */
const table = readFileSync(path.resolve(import.meta.dirname, "../ARCHITECTURE.md"), "utf8");
const ranked = [...table.matchAll(/^\| (\d) \|([^|]+)\|([^|]*)\|([^|]*)\|/gm)].flatMap(
  ([, rank, folders = "", may = "", types = ""]) =>
    [...folders.matchAll(/`([^`]+?)\/?`/g)].map(([, folder = ""]) => ({ folder, rank: Number(rank), may, types })),
);

/** Files of other folders that hold nothing but pure functions over plain values: their functions may be called too. */
const pure: readonly string[] = [
  "agent/informer/watch-health.ts",
  "agent/execution/actions.ts",
  "agent/loop/controller.ts",
  "agent/holds/holds.ts",
  "agent/decisions/sentences.ts",
];

/** The only files that touch what surrounds the process. */
const ambient: Readonly<Record<string, { readonly pattern: RegExp; readonly owners: readonly string[] }>> = {
  time: {
    pattern:
      /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|process\.hrtime|(?<![\w.#])set(Timeout|Interval|Immediate)\(/,
    owners: ["agent/base/clock.ts"],
  },
  chance: { pattern: /\bMath\.random\(|\brandomUUID\(|\brandomBytes\(/, owners: ["agent/base/random.ts"] },
  environment: { pattern: /\bprocess\.env\b/, owners: ["agent/config/load.ts", "agent/cli/process-io.ts"] },
  console: { pattern: /\bconsole\.\w+\(/, owners: ["agent/base/logger.ts", "agent/main.ts"] },
};

const root = path.resolve(import.meta.dirname, "..");
const files = ["agent", "simulator", "storage"].flatMap(sources);

test("only the terminal output, which cleans what it writes, has stdout and stderr", () => {
  const uses = /\bprocess\.(?:stdout|stderr)\b|\bconsole\./;
  expect(sources("agent").filter((file) => uses.test(withoutComments(read(file))))).toEqual([
    "agent/cli/process-io.ts",
    "agent/main.ts",
  ]);
});

test("every import goes down the layers", () => {
  expect(files.length).toBeGreaterThan(20);
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter((one) => !isAllowed(file, one))
      .map((one) => `${file} -> ${one.to}`),
  );
  expect(wrong).toEqual([]);
});

test("the table in ARCHITECTURE.md equals the one above", () => {
  const short = (folder: string): string => folder.replace(/^agent\/(commands\/)?/, "");
  const listed = ({ may, types = [] }: Layer): object => ({
    may: may.map(short).sort(),
    types: types.map(short).sort(),
  });
  const read = (cell: string): readonly string[] =>
    /^(|nothing of ours|\(JSON only\))$/.test(cell)
      ? []
      : /^everything/.test(cell)
        ? ["*"]
        : cell
            .split(", ")
            .map((name) => name.replace(/[`/]/g, ""))
            .sort();
  const documented = ranked.filter(({ folder }) => folder in layers);
  expect(documented.map(({ folder }) => folder).sort()).toEqual(Object.keys(layers).sort());
  for (const { folder, may, types } of documented) {
    expect({ folder, may: read(may.trim()), types: read(types.trim()) }).toEqual({
      folder,
      ...listed(layers[folder] as Layer),
    });
  }
});

test("no folder imports a higher layer at run time", () => {
  const rankOf = new Map(ranked.map(({ folder, rank }) => [folder, rank]));
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter(
        ({ to, type, lazy }) => !type && !lazy && (rankOf.get(layerOf(to)) ?? 0) > (rankOf.get(layerOf(file)) ?? 0),
      )
      .map(({ to }) => `${file} -> ${to}`),
  );
  expect(wrong).toEqual([]);
});

test("an import that goes up, sideways or around the seam would be found", () => {
  const seen = (file: string, to: string, type = false): boolean => isAllowed(file, { to, type, lazy: false });
  expect(seen("agent/controllers/registry.ts", "agent/client/kube-client.ts")).toBe(false);
  expect(seen("agent/controllers/registry.ts", "storage/memo.ts")).toBe(false);
  expect(seen("agent/controllers/registry.ts", "agent/execution/executor.ts")).toBe(false);
  expect(seen("agent/controllers/registry.ts", "agent/execution/executor.ts", true)).toBe(true);
  expect(seen("storage/memo.ts", "agent/base/clock.ts")).toBe(false);
  expect(seen("agent/informer/reflector/reflector.ts", "agent/execution/executor.ts")).toBe(false);
  expect(seen("agent/execution/executor.ts", "agent/informer/lister.ts")).toBe(true);
});

test("time, chance, environment and console are used only in the files that own them", () => {
  const wrong = files.flatMap((file) => {
    const code = withoutComments(read(file));
    return Object.entries(ambient)
      .filter(([, { pattern, owners }]) => pattern.test(code) && !owners.includes(file))
      .map(([what]) => `${file}: ${what}`);
  });
  expect(wrong).toEqual([]);
});

test("the running agent writes times without the time zone's data, which is a megabyte", () => {
  const isElsewhere = (file: string): boolean => /^simulator\/|^agent\/base\/time\/iso-time\.ts$/.test(file);
  const wrong = files.filter(
    (file) => !isElsewhere(file) && /\.toISOString\(|Intl\./.test(withoutComments(read(file))),
  );
  expect(wrong).toEqual([]);
});

test("the simulator is reachable only through import() in the program's outermost layer", () => {
  const wrong = files
    .filter((file) => !file.startsWith("simulator/"))
    .flatMap((file) =>
      importsOf(file)
        .filter((one) => one.to.startsWith("simulator/") && !one.type && !one.lazy && !isOuter(file))
        .map((one) => `${file} -> ${one.to}`),
    );
  expect(wrong).toEqual([]);
});

test("SQL is only in storage/", () => {
  const wrong = files.filter(
    (file) =>
      !file.startsWith("storage/") &&
      /\b(SELECT .* FROM|INSERT INTO|DELETE FROM|CREATE TABLE)\b/.test(withoutComments(read(file))),
  );
  expect(wrong).toEqual([]);
});

/** Files of more than 500 lines, each with the reason why it is one subject all the same. */
const long: Readonly<Record<string, string>> = {};

test("a file of more than 500 lines has a reason", () => {
  const found = files.filter((file) => read(file).trimEnd().split("\n").length > 500);
  expect(found).toEqual(Object.keys(long));
});

/** Files that a folder may hold beside each other: with more of them, it holds a second subject. */
const mostFiles = { production: 25, test: 40 } as const;

/** Folders with more files, each with the reason why it is one subject all the same. */
const crowded: Readonly<Record<string, string>> = {
  "test/compare": "a story each, all of one form; `npm run compare` takes them by name",
};

test("a folder with more than 25 files has a reason, and so has a folder of tests with more than 40", () => {
  const found = crowdedIn([...files, ...sources("packaging"), ...sources("test")]);
  expect(found).toEqual(Object.keys(crowded));
});

test("a folder with one file too many would be found", () => {
  const folder = (name: string, count: number): string[] =>
    Array.from({ length: count }, (_, number) => `${name}/${number}.ts`);
  const full = [...folder("agent/base", 25), ...folder("agent/base/text", 25), ...folder("test/kube", 40)];
  expect(crowdedIn(full)).toEqual([]);
  expect(crowdedIn([...full, "agent/base/more.ts", "test/kube/more.test.ts"])).toEqual(["agent/base", "test/kube"]);
});

test("no two folders depend on each other at run time", () => {
  const needs = new Map<string, Set<string>>();
  for (const file of files)
    for (const { to, type, lazy } of importsOf(file)) {
      const [from, target] = [layerOf(file), layerOf(to)];
      if (type || lazy || from === target || pure.includes(to)) continue;
      needs.set(from, (needs.get(from) ?? new Set()).add(target));
    }
  const reached = (from: string, seen = new Set<string>()): ReadonlySet<string> => {
    for (const next of needs.get(from) ?? []) if (!seen.has(next)) reached(next, seen.add(next));
    return seen;
  };
  expect(needs.size).toBeGreaterThan(15);
  expect([...needs.keys()].filter((folder) => reached(folder).has(folder))).toEqual([]);
});

test("no files import each other in a circle, not even for types or by import()", () => {
  const imports = new Map(files.map((file) => [file, importsOf(file).map(({ to }) => to)]));
  expect(circlesIn(imports)).toEqual([]);
});

test("a circle would be found, regardless of its length and of where it is entered", () => {
  const imports = new Map([
    ["entry", ["a"]],
    ["a", ["b", "leaf"]],
    ["b", ["c"]],
    ["c", ["a"]],
    ["self", ["self"]],
    ["leaf", []],
  ]);
  expect(circlesIn(imports)).toEqual([["a", "b", "c"], ["self"]]);
});

test("no two exported types have the same name", () => {
  const sources = files.map((file) => [file, withoutComments(read(file))] as const);
  expect(sharedNames(sources)).toEqual([]);
});

test("a name of two exported types would be found, regardless of the kind of type", () => {
  const sources = [
    ["a.ts", "export interface Claim {}\nexport type Once = string;\ninterface Inner {}"],
    ["b.ts", "export abstract class Claim {}\ninterface Inner {}"],
  ] as const;
  expect(sharedNames(sources)).toEqual(["Claim: a.ts, b.ts"]);
});

test("only the entry of the program imports the command line", () => {
  const wrong = files
    .filter((file) => layerOf(file) !== "agent/cli" && file !== "agent/main.ts")
    .filter((file) => importsOf(file).some(({ to }) => layerOf(to) === "agent/cli"));
  expect(wrong).toEqual([]);
});

function crowdedIn(paths: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const folder of paths.map((file) => path.dirname(file))) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  const most = (folder: string): number => (folder.startsWith("test/") ? mostFiles.test : mostFiles.production);
  return [...counts].filter(([folder, count]) => count > most(folder)).map(([folder]) => folder);
}

interface Import {
  readonly to: string;
  readonly type: boolean;
  readonly lazy: boolean;
}

function isAllowed(file: string, { to, type }: Import): boolean {
  const [from, target] = [layerOf(file), layerOf(to)];
  if (from === target) return true;
  const layer = layers[from];
  if (!layer) return false;
  if (layer.may.includes("*") || layer.may.includes(target)) return true;
  const { types = [] } = layer;
  return (types.includes("*") || types.includes(target)) && (type || pure.includes(to));
}

function layerOf(file: string): string {
  const name = Object.keys(layers).find((layer) => file === layer || file.startsWith(`${layer}/`));
  if (!name) throw new Error(`${file} belongs to no layer`);
  return name;
}

/** The groups of files that reach each other, each in alphabetical order. */
function circlesIn(imports: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const reached = new Map<string, ReadonlySet<string>>();
  for (const file of imports.keys()) {
    const seen = new Set<string>();
    for (const open = [file]; open.length > 0; ) {
      const found = (imports.get(open.pop() ?? "") ?? []).filter((next) => !seen.has(next));
      for (const next of found) seen.add(next);
      open.push(...found);
    }
    reached.set(file, seen);
  }
  const circle = (file: string): readonly string[] =>
    [...(reached.get(file) ?? [])].filter((other) => reached.get(other)?.has(file)).sort();
  const circles = [...imports.keys()].map(circle).filter((files) => files.length > 0);
  return [...new Map(circles.map((files) => [files.join(), files])).values()];
}

/** The names of types that several files export, with those files. */
function sharedNames(sources: readonly (readonly [file: string, code: string])[]): readonly string[] {
  const owners = new Map<string, Set<string>>();
  for (const [file, code] of sources)
    for (const [, name = ""] of code.matchAll(/^export (?:abstract )?(?:interface|type|class) (\w+)/gm))
      owners.set(name, (owners.get(name) ?? new Set()).add(file));
  return [...owners].filter(([, files]) => files.size > 1).map(([name, files]) => `${name}: ${[...files].join(", ")}`);
}

/** Commands, and what they start, decide what is loaded. */
const isOuter = (file: string): boolean => file.startsWith("agent/cli/") || file === "agent/main.ts";

function importsOf(file: string): readonly Import[] {
  const code = withoutComments(read(file));
  const found: Import[] = [];
  const at = (specifier: string): string => path.relative(root, path.resolve(root, path.dirname(file), specifier));
  for (const [, type, names = "", specifier = ""] of code.matchAll(
    /^(?:import|export)\s+(type\s+)?([^"';]*?)from\s+"(\.[^"]+)"/gms,
  )) {
    found.push({ to: at(specifier), type: type !== undefined || namesTypesOnly(names), lazy: false });
  }
  for (const [, specifier = ""] of code.matchAll(/^import\s+"(\.[^"]+)"/gm))
    found.push({ to: at(specifier), type: false, lazy: false });
  for (const [, specifier = ""] of code.matchAll(/\bimport\(\s*"(\.[^"]+)"\s*\)/g))
    found.push({ to: at(specifier), type: false, lazy: true });
  return found.filter(({ to }) => to.endsWith(".ts"));
}

/** `{ type A, type B }` imports no more than `import type` does. */
function namesTypesOnly(names: string): boolean {
  const inner = /^\{(.*)\}\s*$/s.exec(names.trim())?.[1];
  const single = inner?.split(",").map((name) => name.trim()) ?? [];
  return inner !== undefined && single.filter(Boolean).every((name) => name.startsWith("type "));
}

function sources(folder: string): string[] {
  return readdirSync(path.join(root, folder)).flatMap((name) => {
    const file = path.join(folder, name);
    if (statSync(path.join(root, file)).isDirectory()) return sources(file);
    return /\.(ts|mjs)$/.test(file) && !file.endsWith(".d.ts") ? [file] : [];
  });
}

function read(file: string): string {
  return readFileSync(path.join(root, file), "utf8");
}

function withoutComments(code: string): string {
  return code.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");
}
