import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Asker, resolveKubeconfig } from "../../../../agent/client/credentials/credential-resolution.ts";

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
  resolveKubeconfig(configured, asker, { env: { HOME: at("home"), ...env }, etc: at("etc") });

test("on an enrolled board a command uses the service's credentials, not the user's KUBECONFIG", () => {
  const shell = { KUBECONFIG: ":/root/admin.yaml" };
  expect(meant("person", shell)).toEqual({ file: "/root/admin.yaml" });
  const enrolled = put("etc/credentials/kubeconfig");
  expect(meant("person", shell)).toEqual({ file: enrolled });
  expect(meant("person", { KUBERNETES_SERVICE_HOST: "10.96.0.1" })).toEqual({ file: enrolled });
  expect(meant("person", shell, "/set.yaml")).toEqual({ file: "/set.yaml" });
});

test("the agent uses the KUBECONFIG that it was started with, regardless of what the board was enrolled with", () => {
  const enrolled = put("etc/credentials/kubeconfig");
  expect(meant("agent", { KUBECONFIG: "/mine.yaml" })).toEqual({ file: "/mine.yaml" });
  expect(meant("agent", { KUBERNETES_SERVICE_HOST: "10.96.0.1" })).toEqual({ pod: true });
  expect(meant("agent")).toEqual({ file: enrolled });
});

test("credentials passed by systemd are the board's, unless the file holds only the word none", () => {
  const enrolled = put("etc/credentials/kubeconfig");
  const passed = put("run/kubeconfig", "none");
  const service = { NOTIFY_SOCKET: "/run/systemd/notify", CREDENTIALS_DIRECTORY: at("run") };
  expect(meant("agent", service)).toEqual({ file: enrolled });
  put("run/kubeconfig");
  expect(meant("agent", service)).toEqual({ file: passed });
  expect(meant("person", service)).toEqual({ file: passed });
});

test("on a board that has never been enrolled the user's home folder is used, and a service has no credentials", () => {
  expect(meant("person")).toBeUndefined();
  expect(meant("agent")).toEqual({ file: at("home/.kube/config") });
  expect(meant("agent", { NOTIFY_SOCKET: "/run/systemd/notify" })).toBeUndefined();
  const own = put("home/.kube/config");
  expect(meant("person")).toEqual({ file: own });
  expect(meant("agent", { NOTIFY_SOCKET: "/run/systemd/notify" })).toEqual({ file: own });
});

const isRoot = process.getuid?.() === 0;
if (!isRoot)
  console.log("not run as root: unreadable credentials are not tested, since the process cannot change its user");

test.runIf(isRoot)(
  "a command chooses the board's credentials even if its user is not allowed to read them; to the agent they do not exist",
  () => {
    const enrolled = put("etc/credentials/kubeconfig");
    chmodSync(at("etc/credentials"), 0o700);
    chmodSync(folder, 0o755);
    const shell = { KUBECONFIG: "/mine.yaml" };
    process.seteuid?.(65_534);
    const [person, agent] = [meant("person", shell), meant("agent", { NOTIFY_SOCKET: "x" })];
    process.seteuid?.(0);
    expect([person, agent]).toEqual([{ file: enrolled }, undefined]);
  },
);
