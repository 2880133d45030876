import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { noopLogger } from "../../../agent/base/logger.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import type { Config } from "../../../agent/config/settings.ts";
import { credentialsOf } from "../../../agent/process/api-access.ts";
import { recordingIo } from "../../support/recording-io.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-access-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A kubeconfig that differs from the others in the name of its server. */
function kubeconfig(place: string): string {
  const file = path.join(folder, place);
  mkdirSync(path.dirname(file), { recursive: true });
  const name = place.replaceAll(/\W/g, "-");
  writeFileSync(
    file,
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: `http://${name}` } }],
      users: [{ name: "u", user: {} }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  return file;
}

const config = (api: Partial<Config["api"]> = {}): Config => {
  const loaded = loadConfig({ file: undefined, env: {}, hostname: "pi-1", profile: undefined }).config;
  return { ...loaded, api: { ...loaded.api, ...api } };
};

async function serverBy(env: Readonly<Record<string, string>>, api: Partial<Config["api"]> = {}): Promise<string> {
  const io = recordingIo({ env: { HOME: path.join(folder, "home"), ...env } });
  const access = await credentialsOf(io, config(api), { clock: io.clock, random: io.random, log: noopLogger }).access();
  return access.server.hostname;
}

const service = (): Readonly<Record<string, string>> => ({
  NOTIFY_SOCKET: "/run/systemd/notify",
  CREDENTIALS_DIRECTORY: path.join(folder, "given"),
});

test("the configuration has precedence over the environment, then the unit's credentials, then the home folder", async () => {
  const [set, own] = [kubeconfig("set"), kubeconfig("own")];
  kubeconfig("given/kubeconfig");
  kubeconfig("home/.kube/config");
  expect(await serverBy({ ...service(), KUBECONFIG: own }, { kubeconfig: set })).toBe("set");
  expect(await serverBy({ ...service(), KUBECONFIG: `:${own}` })).toBe("own");
  expect(await serverBy(service())).toBe("given-kubeconfig");
  expect(await serverBy({})).toBe("home--kube-config");
});

test("a service on a board that was not enrolled reports that, and finds credentials that are added later", async () => {
  mkdirSync(path.join(folder, "given"));
  // What the unit gives in place of a kubeconfig that is not there.
  writeFileSync(path.join(folder, "given/kubeconfig"), "none");
  const io = recordingIo({ env: { HOME: path.join(folder, "home"), ...service() } });
  const credentials = credentialsOf(io, config(), { clock: io.clock, random: io.random, log: noopLogger });
  await expect(credentials.access()).rejects.toMatchObject({
    message: "this board has no credentials for the API",
    hint: expect.stringContaining("siteward enroll"),
  });
  kubeconfig("given/kubeconfig");
  expect((await credentials.access()).server.hostname).toBe("given-kubeconfig");
});

test("a person who runs the agent by hand gets a message about the missing file", async () => {
  await expect(serverBy({})).rejects.toThrow(/kubeconfig .*home\/\.kube\/config does not exist/);
});
