import { readdirSync } from "node:fs";
import path from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

export interface ProgramOptions {
  readonly root: string;
  readonly outdir: string;
  /** How the bundle names the SQLite binding, which stays outside of it. */
  readonly sqlite: string;
  readonly plugins?: readonly Plugin[];
}

/**
 * The program as it ships: split by `import()`, so that a command loads what it needs, and the agent as a bundle of its
 * own beside the rest (see agent/cli/agent-alone.ts). Answers the source files that are in it, below the root.
 */
export async function buildProgram(options: ProgramOptions): Promise<readonly string[]> {
  const agent = await bundled(options, "agent/cli/agent-alone.ts", []);
  return [...new Set([...agent, ...(await bundled(options, "agent/main.ts", [agentApart]))])];
}

async function bundled(
  { root, outdir, sqlite, plugins = [] }: ProgramOptions,
  entry: string,
  own: readonly Plugin[],
): Promise<readonly string[]> {
  const options = {
    absWorkingDir: root,
    entryPoints: [entry],
    outdir,
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node24",
    format: "esm",
    // Source text stays in memory; names stay, so that a stack says where in the program it is.
    minifyWhitespace: true,
    lineLimit: 160,
    external: [sqlite],
    alias: { ...substitutes(root), "better-sqlite3": sqlite },
    plugins: [...own, ...plugins],
    metafile: true,
    logLevel: "warning",
  } satisfies BuildOptions;
  return Object.keys((await build(options)).metafile.inputs);
}

/** Each file of agent/builtin stands for the module of Node (.ts), or the package (.cjs), that it is called after. */
function substitutes(root: string): Record<string, string> {
  const folder = path.join(root, "agent/builtin");
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
    onResolve({ filter: /^\.\/(cli\/agent-alone|run)\.ts$/ }, ({ importer }) =>
      /\/agent\/(main|cli\/run-command)\.ts$/.test(importer) ? { path: "./agent-alone.js", external: true } : undefined,
    ),
};
