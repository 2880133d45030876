import { readFileSync } from "node:fs";
import path from "node:path";
import { build, type Plugin } from "esbuild";
import { root } from "./board.ts";

/**
 * The program as `npm run build` makes it, with some of its modules replaced: `{ "agent/a.ts": text }`. There the original is
 * `original:agent/a.ts`. So that a story can have a defect in it that no switch in the product could cause.
 */
export async function bundleWith(outdir: string, replaced: Readonly<Record<string, string>>): Promise<void> {
  const { scripts } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
    readonly scripts: { readonly build: string };
  };
  const aliases = [...scripts.build.matchAll(/--alias:(\S+?)=\.\/(\S+)/g)];
  const externals = [...scripts.build.matchAll(/--external:(\S+)/g)];
  await build({
    absWorkingDir: root,
    entryPoints: ["agent/main.ts"],
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node24",
    format: "esm",
    outdir,
    external: externals.map(([, name = ""]) => name),
    alias: Object.fromEntries(aliases.map(([, name = "", file = ""]) => [name, path.join(root, file)])),
    plugins: [replacing(replaced)],
    logLevel: "warning",
  });
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
