import path from "node:path";
import type { Plugin } from "esbuild";
import { buildProgram } from "../../packaging/program.ts";
import { root } from "./board.ts";

/**
 * Builds the program like `npm run build`, with some modules replaced: `{ "agent/main.ts": text }`. A replacement imports the
 * original as `original:agent/main.ts`. This lets a story contain a defect that no switch of the product could cause.
 */
export async function bundleWith(outdir: string, replaced: Readonly<Record<string, string>>): Promise<void> {
  await buildProgram({ root, outdir, sqlite: "better-sqlite3", plugins: [replacing(replaced)] });
}

function replacing(replaced: Readonly<Record<string, string>>): Plugin {
  return {
    name: "replacing",
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^original:/ }, ({ path: name }) => ({
        path: path.join(root, name.slice("original:".length)),
        suffix: "?original",
      }));
      onLoad({ filter: /\.ts$/ }, ({ path: file, suffix }) => {
        const text = suffix === "" ? replaced[path.relative(root, file)] : undefined;
        return text === undefined ? undefined : { contents: text, loader: "ts", resolveDir: path.dirname(file) };
      });
    },
  };
}
