import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";

const script = path.join(import.meta.dirname, "killed-desk.ts");

const run = (
  argv: readonly string[],
): Promise<{ readonly signal: unknown; readonly stdout: string; readonly stderr: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, [script, ...argv], (error, stdout, stderr) =>
      resolve({ signal: error?.signal, stdout, stderr }),
    );
  });

const points = ["admit", "begin", "effect", "settle"].flatMap((step) => [
  [step, "before"] as const,
  [step, "after"] as const,
]);

const killed = async (name: string, step: string, when: string) => {
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-killed-"));
  try {
    const first = await run([folder, name, step, when]);
    expect(first.signal, first.stderr).toBe("SIGKILL");
    const { stdout, stderr } = await run([folder, name]);
    expect(stderr).toBe("");
    const effects = path.join(folder, "effects");
    return {
      answer: JSON.parse(stdout),
      effects: existsSync(effects) ? readFileSync(effects, "utf8").trim().split("\n").length : 0,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
};

test.each(points)(
  "killed -9 %s: %s, a step-down is executed once, or reported as unknown and not repeated",
  async (step, when) => {
    const { answer, effects } = await killed("leader.step-down", step, when);
    const inDoubt = !(
      step === "admit" ||
      (step === "begin" && when === "before") ||
      (step === "settle" && when === "after")
    );
    expect(answer).toMatchObject(
      inDoubt ? { state: "failed", error: "interrupted", replayed: true } : { state: "succeeded", replayed: true },
    );
    expect(effects).toBe(step === "begin" && when === "after" ? 0 : step === "effect" && when === "before" ? 0 : 1);
  },
);

test.each(points.filter(([step]) => step !== "begin"))(
  "killed -9 %s: %s, a freeze is in force in the end",
  async (step, when) => {
    const { answer, effects } = await killed("eviction.freeze", step, when);
    expect(answer).toMatchObject({ state: "succeeded", code: 200, replayed: true });
    expect(effects).toBeGreaterThanOrEqual(1);
  },
);
