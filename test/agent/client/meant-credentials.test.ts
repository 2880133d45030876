import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Asker, meantKubeconfig } from "../../../agent/client/meant-credentials.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-meant-"));
});

afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true });
});

const at = (place: string): string => path.join(folder, place);

function put(place: string, text = "apiVersion: v1\n"): string {
  mkdirSync(path.dirname(at(place)), { recursive: true });
  writeFileSync(at(place), text);
  return at(place);
}

const meant = (asker: Asker, env: Readonly<Record<string, string>> = {}, configured?: string) =>
  meantKubeconfig(configured, asker, { env: { HOME: at("home"), ...env }, etc: at("etc") });

test("an enrolled board is judged by what its service uses, not by the KUBECONFIG of whoever asks", () => {
  const shell = { KUBECONFIG: ":/root/admin.yaml" };
  expect(meant("person", shell)).toEqual({ file: "/root/admin.yaml" });
  const enrolled = put("etc/credentials/kubeconfig");
  expect(meant("person", shell)).toEqual({ file: enrolled });
  expect(meant("person", { KUBERNETES_SERVICE_HOST: "10.96.0.1" })).toEqual({ file: enrolled });
  expect(meant("person", shell, "/set.yaml")).toEqual({ file: "/set.yaml" });
});

test("the agent goes by the KUBECONFIG that it was started with, whatever the board was enrolled with", () => {
  const enrolled = put("etc/credentials/kubeconfig");
  expect(meant("agent", { KUBECONFIG: "/mine.yaml" })).toEqual({ file: "/mine.yaml" });
  expect(meant("agent", { KUBERNETES_SERVICE_HOST: "10.96.0.1" })).toEqual({ pod: true });
  expect(meant("agent")).toEqual({ file: enrolled });
});

test("what systemd passed on is the board's, unless it is the word that stands for nothing", () => {
  const enrolled = put("etc/credentials/kubeconfig");
  const passed = put("run/kubeconfig", "none");
  const service = { NOTIFY_SOCKET: "/run/systemd/notify", CREDENTIALS_DIRECTORY: at("run") };
  expect(meant("agent", service)).toEqual({ file: enrolled });
  put("run/kubeconfig");
  expect(meant("agent", service)).toEqual({ file: passed });
  expect(meant("person", service)).toEqual({ file: passed });
});

test("a board that was never enrolled has the home folder of whoever is there, and a service nothing", () => {
  expect(meant("person")).toBeUndefined();
  expect(meant("agent")).toEqual({ file: at("home/.kube/config") });
  expect(meant("agent", { NOTIFY_SOCKET: "/run/systemd/notify" })).toBeUndefined();
  const own = put("home/.kube/config");
  expect(meant("person")).toEqual({ file: own });
  expect(meant("agent", { NOTIFY_SOCKET: "/run/systemd/notify" })).toEqual({ file: own });
});

const isRoot = process.getuid?.() === 0;
if (!isRoot)
  console.log("not run as root: what a user may not look at cannot be tried, since nobody else can be become");

test.runIf(isRoot)("what a person may not look at is meant nevertheless; to the agent it is not there", () => {
  const enrolled = put("etc/credentials/kubeconfig");
  chmodSync(at("etc/credentials"), 0o700);
  chmodSync(folder, 0o755);
  const shell = { KUBECONFIG: "/mine.yaml" };
  process.seteuid?.(65_534);
  const [person, agent] = [meant("person", shell), meant("agent", { NOTIFY_SOCKET: "x" })];
  process.seteuid?.(0);
  expect([person, agent]).toEqual([{ file: enrolled }, undefined]);
});
