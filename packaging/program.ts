import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

export interface ProgramOptions {
  readonly root: string;
  readonly outdir: string;
  /** How the bundle names the SQLite binding, which stays outside of it. */
  readonly sqlite: string;
  readonly plugins?: readonly Plugin[];
  /** Keeps a source map beside each file, for who reads a stack (read-stack.ts). */
  readonly maps?: boolean;
}

/**
 * The program as it ships: split by `import()`, so that a command loads what it needs, and the agent as a bundle of its
 * own beside the rest (see agent/cli/agent-alone.ts). Answers the source files that are in it, below the root.
 */
export async function buildProgram(options: ProgramOptions): Promise<readonly string[]> {
  mkdirSync(options.outdir, { recursive: true });
  const agent = await bundled(options, { entry: "agent/cli/agent-alone.ts", minifyIdentifiers: true });
  const rest = await bundled(options, { entry: "agent/main.ts", minifyIdentifiers: false, own: [agentApart] });
  return [...new Set([...agent, ...rest])];
}

interface Part {
  readonly entry: string;
  readonly minifyIdentifiers: boolean;
  readonly own?: readonly Plugin[];
}

async function bundled(
  { root, outdir, sqlite, plugins = [], maps = false }: ProgramOptions,
  { entry, minifyIdentifiers, own = [] }: Part,
): Promise<readonly string[]> {
  const options = {
    absWorkingDir: root,
    entryPoints: [entry],
    // Wherever the files go: their names depend on the maps, and these on the way from here to the sources.
    outdir: path.join(root, "dist"),
    write: false,
    sourcemap: "external",
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node24",
    format: "esm",
    // Source text stays in memory as long as the process lives; the agent's long names are 0.4 MB of it.
    minifyWhitespace: true,
    minifyIdentifiers,
    lineLimit: 160,
    external: [sqlite],
    alias: { ...substitutes(root), "better-sqlite3": sqlite },
    plugins: [...own, ...plugins],
    metafile: true,
    logLevel: "warning",
  } satisfies BuildOptions;
  const { metafile, outputFiles } = await build(options);
  for (const { path: file, contents } of outputFiles) {
    if (maps || !file.endsWith(".map")) writeFileSync(path.join(outdir, path.basename(file)), contents);
  }
  return Object.keys(metafile.inputs);
}

/** Each file of packaging/shims stands for the module of Node (.ts), or the package (.cjs), that it is called after. */
function substitutes(root: string): Record<string, string> {
  const folder = path.join(root, "packaging/shims");
  return Object.fromEntries(
    readdirSync(folder).map((file) => {
      const { name, ext } = path.parse(file);
      return [ext === ".ts" ? `node:${name}` : name, path.join(folder, file)];
    }),
  );
}

/** What the other bundle is asked for, also by the table of commands, is this one's. */
const agentApart: Plugin = {
  name: "agent apart",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^(\.\/cli\/agent-alone|\.\.\/process\/run)\.ts$/ }, ({ importer }) =>
      /\/agent\/(main|cli\/run-command)\.ts$/.test(importer) ? { path: "./agent-alone.js", external: true } : undefined,
    ),
};
