import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { EmbeddedServer } from "./embedded-server.ts";
import { deafMutants } from "./mutants/deaf.ts";

interface Said {
  readonly code: number;
  readonly out: string;
}

/** Runs `npm run conformance --` with these arguments. */
function conformance(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Said> {
  const command = [path.join(import.meta.dirname, "conformance.ts"), ...words];
  return new Promise((resolve) => {
    execFile(process.execPath, command, { env: { PATH: process.env.PATH, ...env } }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: out + err });
    });
  });
}

test("the command checks the embedded API unless another server is named", async () => {
  const { code, out } = await conformance(["--only", "^(list-order|page-exact)$"]);
  expect(out).toMatch(/^2 rules, checked on the embedded API\n(met .*\n){2}2 met, 0 not met, 0 not checked\n$/);
  expect(code).toBe(0);
});

test("the command reports a fault of a server with the request, the expected and the actual answer", async () => {
  const mutant = deafMutants.find(({ does }) => does === "ignores the limit of a list");
  const server = await EmbeddedServer.start(mutant?.made);
  try {
    const { code, out } = await conformance(["--server", server.target.server, "--only", "^(page-size|list-order)$"]);
    expect(out).toMatch(/NOT MET {5}page-size: .*\n {2}request: {2}GET .*limit=4.*\n {2}expected: .*\n {2}came: /);
    expect(out).toMatch(/met {9}list-order: /);
    expect(out).toContain("1 met, 1 not met, 0 not checked");
    expect(code).toBe(1);
  } finally {
    await server.stop();
  }
});

test("a kubeconfig in the environment can name the server, and rules that cannot be checked there are listed", async () => {
  const server = await EmbeddedServer.start();
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-conformance-"));
  const file = path.join(folder, "kubeconfig");
  const clusters = [{ name: "one", cluster: { server: server.target.server } }];
  const contexts = [{ name: "one", context: { cluster: "one", user: "one" } }];
  const users = [{ name: "one", user: {} }];
  const config = { apiVersion: "v1", kind: "Config", clusters, contexts, users, "current-context": "one" };
  writeFileSync(file, JSON.stringify(config));
  try {
    const named = { SITEWARD_CONFORMANCE_KUBECONFIG: file };
    const { code, out } = await conformance(["--only", "^(list-order|expired-watch)$"], named);
    expect(out).toContain(`checked on ${server.target.server}`);
    expect(out).toMatch(
      /not checked expired-watch: .*\n {2}because this server's history cannot be compacted on request/,
    );
    expect(out).toContain("1 met, 0 not met, 1 not checked");
    expect(code).toBe(0);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
});

test("wrong usage and an unreachable server have different exit codes", async () => {
  expect((await conformance(["--kubeconfig", "/nowhere/kubeconfig"])).code).toBe(69);
  const wrong = await conformance(["--colour"]);
  expect([wrong.code, wrong.out.includes("npm run conformance --")]).toEqual([2, true]);
  expect((await conformance(["--help"])).code).toBe(0);
});
