import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

export interface ProgramOptions {
  readonly root: string;
  readonly outdir: string;
  /** The name by which the bundle imports the SQLite binding, which is not bundled. */
  readonly sqlite: string;
  readonly plugins?: readonly Plugin[];
  /** Also writes a source map for each file, for reading stacks (read-stack.ts). */
  readonly maps?: boolean;
}

/**
 * Builds the program as shipped: split at `import()`, so that a command loads only what it needs, and the agent as a
 * separate bundle (see agent/cli/agent-alone.ts). Returns the source files in it, relative to the root.
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
    // Always the same folder, regardless of `outdir`, because file names depend on the maps, and the maps on the path
    // from here to the sources.
    outdir: path.join(root, "dist"),
    write: false,
    sourcemap: "external",
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node24",
    format: "esm",
    // Minified, because source text stays in memory for the life of the process; the agent's long names alone would
    // take 0.4 MB.
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

/** Each file in packaging/shims replaces the Node module (.ts) or the package (.cjs) with the same name. */
function substitutes(root: string): Record<string, string> {
  const folder = path.join(root, "packaging/shims");
  return Object.fromEntries(
    readdirSync(folder).map((file) => {
      const { name, ext } = path.parse(file);
      return [ext === ".ts" ? `node:${name}` : name, path.join(folder, file)];
    }),
  );
}

/**
 * Makes main.ts and run-command.ts import the agent's own bundle, because otherwise they would contain a second copy of
 * the agent.
 */
const agentApart: Plugin = {
  name: "agent apart",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^(\.\/cli\/agent-alone|\.\.\/process\/run)\.ts$/ }, ({ importer }) =>
      /\/agent\/(main|cli\/run-command)\.ts$/.test(importer) ? { path: "./agent-alone.js", external: true } : undefined,
    ),
};
