import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const script = "/usr/bin/script";
if (!existsSync(script)) console.warn("left out: siteward enroll at a terminal, because there is no script(1) here");

describe.skipIf(!existsSync(script))("siteward enroll at a terminal", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "siteward-terminal-"));
    for (const name of ["etc", "usr"]) mkdirSync(path.join(folder, "card", name), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** A person at a terminal, who answers each question when it is asked. */
  function dialogue(answers: readonly (readonly [question: RegExp, answer: string])[]) {
    const main = path.resolve(import.meta.dirname, "../../../agent/main.ts");
    const command = `${process.execPath} ${main} enroll --root ${folder}/card`;
    const child = spawn(script, ["-qec", command, "/dev/null"], { env: { ...process.env, TERM: "dumb" } });
    let screen = "";
    let seen = 0;
    const left = [...answers];
    child.stdout.on("data", (text: Buffer) => {
      screen += text;
      const [next] = left;
      if (next?.[0].test(screen.slice(seen))) {
        seen = screen.length;
        left.shift();
        child.stdin.write(`${next[1]}\n`);
      }
    });
    return new Promise<{ readonly code: number | null; readonly screen: string; readonly unasked: number }>((resolve) =>
      child.once("exit", (code) => resolve({ code, screen, unasked: left.length })),
    );
  }

  test("prompts for missing values, shows no token, and writes the answers", async () => {
    writeFileSync(path.join(folder, "none"), "");
    const { code, screen, unasked } = await dialogue([
      [/kubeconfig file/, ""],
      [/address of the API server/, "https://127.0.0.1:9"],
      [/certificate authority/, ""],
      [/token \(not shown\)/, "sup3r-secret-t0ken"],
      [/site \(/, "plant7"],
      [/board \(/, "edge-02"],
      [/MQTT broker/, ""],
    ]);
    expect(screen).toContain("wrote ");
    expect([code, unasked]).toEqual([0, 0]);
    expect(screen).not.toContain("sup3r-secret-t0ken");
    const written = (name: string): string => readFileSync(path.join(folder, "card/etc/siteward", name), "utf8");
    expect(written("credentials/kubeconfig")).toContain("sup3r-secret-t0ken");
    expect(written("conf.d/20-enrolled.yaml")).toMatch(/name: plant7[\s\S]*name: edge-02/);
  });

  test.each([
    ["Ctrl-C", "\u0003"],
    ["Ctrl-D", "\u0004"],
  ])("%s at a question leaves no files behind, and is reported", async (_, key) => {
    const { code, screen } = await dialogue([
      [/kubeconfig file/, ""],
      [/address of the API server/, key],
    ]);
    expect(code).toBe(1);
    expect(screen).toMatch(/siteward: cancelled; nothing was done/);
    expect(readdirSync(path.join(folder, "card/etc"))).toEqual([]);
  });
});
