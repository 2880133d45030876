import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../../agent/base/clock.ts";
import { run } from "../../../agent/process/run.ts";
import type { Status } from "../../../agent/status/schema.ts";
import { until } from "../../support/agent-process.ts";
import { recordingIo } from "../../support/recording-io.ts";

/** A board without a link: everything that a reload touches is there, and nothing else. */
describe("a configuration that is reloaded", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "siteward-reload-"));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const file = (): string => path.join(folder, "siteward.yaml");

  function configure(sections: object): void {
    const whole = {
      apiVersion: "siteward.dev/v1",
      kind: "AgentConfiguration",
      state: { folder: path.join(folder, "state") },
      run: { folder: path.join(folder, "run") },
      api: { kubeconfig: path.join(folder, "kubeconfig") },
      log: { format: "json", level: "info" },
      status: { minInterval: "100ms" },
      ...sections,
    };
    writeFileSync(file(), JSON.stringify(whole));
  }

  function status(): Status | undefined {
    try {
      return JSON.parse(readFileSync(path.join(folder, "run/status.json"), "utf8")) as Status;
    } catch {
      return undefined;
    }
  }

  const conditions = (): readonly string[] => status()?.health.conditions.map(({ type }) => type) ?? [];

  async function agent() {
    const io = recordingIo({ clock: new SystemClock() });
    const running = run(io, { flags: new Set(), values: new Map([["config", file()]]), words: [] });
    await until(
      "the first status",
      () => status() !== undefined,
      10,
      () => io.out() + io.err(),
    );
    return {
      io,
      reload: () => io.hangUp(),
      end: async (): Promise<number> => {
        io.stop.abort(new Error("over"));
        return await running;
      },
    };
  }

  test("keeps the life if only the log level changed, begins a new one if the site changed, and the final status is written last", async () => {
    configure({});
    const { io, reload, end } = await agent();
    configure({ log: { format: "json", level: "debug" } });
    reload();
    expect(io.out()).toContain('"outcome":"taken"');
    configure({ log: { format: "json", level: "debug" }, site: { name: "plant-7" } });
    reload();
    await until("the other site", () => status()?.identity.site === "plant-7", 10);
    reload();
    expect(io.out()).toContain('"outcome":"unchanged"');
    expect(await end()).toBe(0);
    expect(status()?.ending).toEqual({ cause: "stop" });
  });

  test("may move its folders, and the status continues in the new place", async () => {
    configure({});
    const { reload, end } = await agent();
    const elsewhere = path.join(folder, "elsewhere");
    configure({ run: { folder: elsewhere } });
    reload();
    await until("a status there", () => readable(path.join(elsewhere, "status.json")), 10);
    expect(await end()).toBe(0);
  });

  test("is refused and reported on each reload while it is invalid", async () => {
    configure({});
    const { io, reload, end } = await agent();
    writeFileSync(file(), "site: [");
    reload();
    reload();
    await until("the refusal is reported", () => conditions().includes("ConfigRefused"), 10);
    expect(io.out().match(/the new configuration is invalid/g)).toHaveLength(2);
    expect(status()?.identity.site).toBe("default");
    configure({});
    reload();
    await until("the refusal is no longer reported", () => !conditions().includes("ConfigRefused"), 10);
    expect(await end()).toBe(0);
  });

  test("gives way to the previous one if the agent cannot start with it", async () => {
    configure({ site: { name: "plant-7" } });
    const { reload, end } = await agent();
    configure({ site: { name: "plant-8" }, state: { folder: "/proc/nowhere" } });
    reload();
    await until(
      "the refusal is reported",
      () => conditions().includes("ConfigRefused") && status()?.leader !== undefined,
      10,
    );
    expect(status()?.identity.site).toBe("plant-7");
    expect(await end()).toBe(0);
  });

  test("several times in a row takes effect in its last version", async () => {
    configure({});
    const { reload, end } = await agent();
    for (const name of ["plant-1", "plant-2", "plant-3"]) {
      configure({ site: { name } });
      reload();
    }
    await until("the last site", () => status()?.identity.site === "plant-3" && status()?.leader !== undefined, 10);
    expect(await end()).toBe(0);
  });
});

const readable = (name: string): boolean => {
  try {
    return readFileSync(name, "utf8").length > 0;
  } catch {
    return false;
  }
};
