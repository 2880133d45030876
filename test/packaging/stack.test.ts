import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { readableStack } from "../../packaging/stack.ts";

const source = `export class Leader {
  #look() {
    throw new Error("no board is known");
  }

  pass() {
    this.#look();
  }
}
new Leader().pass();
`;

/** A bundle of that source like the agent's, and the stack of its error. */
async function failed(): Promise<{ readonly stack: string; readonly map: string }> {
  const { outputFiles } = await build({
    stdin: { contents: source, sourcefile: "agent/leader.ts", loader: "ts" },
    outfile: "agent-alone.js",
    bundle: true,
    minifyWhitespace: true,
    minifyIdentifiers: true,
    format: "iife",
    sourcemap: "external",
    write: false,
  });
  const text = (end: string): string => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? "";
  try {
    new Function(`${text(".js")}//# sourceURL=file:///usr/lib/siteward/dist/agent-alone.js`)();
  } catch (error) {
    // A function's body begins two lines below its head.
    const shift = (_: string, line: string): string => `agent-alone.js:${Number(line) - 2}:`;
    return { stack: String((error as Error).stack).replace(/agent-alone\.js:(\d+):/g, shift), map: text(".map") };
  }
  throw new Error("it did not fail");
}

describe("a stack of the shipped program", () => {
  test("is mapped to the lines and names of the sources", async () => {
    const { stack, map } = await failed();
    expect(stack).toContain("/usr/lib/siteward/dist/agent-alone.js:1:");
    const { text, unknown } = readableStack(stack, (file) => (file === "agent-alone.js" ? map : undefined));
    expect(text).toContain("Error: no board is known");
    expect(text).toMatch(/agent\/leader\.ts:3:\d+/);
    expect(text).toMatch(/agent\/leader\.ts:7:\d+ \(#look\)/);
    expect(text).not.toContain("/usr/lib");
    expect(unknown).not.toContain("agent-alone.js");
  });

  test("of another version stays unchanged and is reported", () => {
    const line = '{"stack":"Error\\n    at t (/usr/lib/siteward/dist/chunk-OTHER.js:1:2)"}';
    expect(readableStack(line, () => undefined)).toEqual({ text: line, unknown: ["chunk-OTHER.js"] });
  });
});
