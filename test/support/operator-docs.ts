import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

export const operatorDocs = (): string =>
  readFileSync(path.resolve(import.meta.dirname, "../../docs/operator.md"), "utf8");

/** The fenced blocks of a kind, without the indent of the surrounding list; "" is a block without a kind. */
export const blocks = (kind: string): readonly string[] =>
  [...operatorDocs().matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, , found]) => found === kind)
    .map(([, indent = "", , text = ""]) => text.replaceAll(new RegExp(`^${indent}`, "gm"), ""));

/** The block that contains these words. */
export function blockWith(kind: string, words: string): string {
  const found = blocks(kind).filter((text) => text.includes(words));
  if (found.length !== 1) throw new Error(`${found.length} blocks of docs/operator.md hold ${JSON.stringify(words)}`);
  return found[0] ?? "";
}

/** One command of a block: the line with this beginning, and its continuation lines. */
export function commandOf(block: string, begin: string): string {
  const lines = block.replaceAll("\\\n", "").split("\n");
  const line = lines.find((one) => one.startsWith(begin));
  if (line === undefined) throw new Error(`no line begins with ${JSON.stringify(begin)}`);
  return line;
}

/** Runs a block as if it were pasted and returns its output. Throws with all output if a line fails. */
export function pasted(
  script: string,
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): string {
  const { status, stdout, stderr } = spawnSync("bash", ["-euo", "pipefail", "-c", script], {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`ended with ${status}: ${script}\n${stdout}\n${stderr}`);
  return stdout;
}
