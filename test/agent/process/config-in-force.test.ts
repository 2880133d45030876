import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import type { JsonRecord } from "../../../agent/base/json.ts";
import { readRemote, writeRemote } from "../../../agent/config/remote-file.ts";
import type { RemoteRecord } from "../../../agent/config/remote-record.ts";
import { ConfigInForce } from "../../../agent/process/config-in-force.ts";
import { configOf } from "../../../agent/process/load-config.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A board under settings of its fleet, with a drop-in that an engineer edits. */
class Board {
  readonly folder = mkdtempSync(path.join(tmpdir(), "siteward-in-force-"));
  readonly dropIn = path.join(this.folder, "conf.d/10-local.yaml");
  readonly inForce: ConfigInForce;
  readonly #file = path.join(this.folder, "siteward.yaml");

  constructor(config: JsonRecord, dropIn = "") {
    folders.push(this.folder);
    mkdirSync(path.dirname(this.dropIn));
    writeFileSync(this.#file, `${head}state: { folder: ${this.folder} }\n`);
    this.edit(dropIn);
    this.store(7, config);
    this.inForce = new ConfigInForce({ loaded: this.#load(), load: (fleet) => this.#load(fleet) });
  }

  edit(text: string): void {
    writeFileSync(this.dropIn, `${head}${text}`);
  }

  store(version: number, config: JsonRecord): void {
    writeRemote(this.folder, { ...readRemote(this.folder), current: { version, hash: "x", config } });
  }

  #load(fleet?: RemoteRecord) {
    const io = { env: {}, hostname: "pi-1", home: this.folder };
    return configOf(io, this.#file, () => undefined, fleet && (() => fleet));
  }
}

const head = "apiVersion: siteward.dev/v1\nkind: AgentConfiguration\n";
const fleet = { memory: { soft: "120MiB" }, site: { nodeSelector: "plant=7" } };
const smaller = "memory: { soft: 90MiB, hard: 100MiB }\n";

test("a reload that would leave out fleet settings is refused, and the previous configuration is kept", () => {
  const { inForce, ...board } = new Board(fleet);
  for (const edited of [smaller, "remote: { locked: site.nodeSelector }\n"]) {
    writeFileSync(board.dropIn, `${head}${edited}`);
    expect(inForce.reload(true)).toBe("refused");
    expect(inForce.refused.join()).toMatch(/version 7 of the fleet settings .* (memory\.soft|site\.nodeSelector)/);
    expect([inForce.loaded.remoteVersion, inForce.config.site.nodeSelector]).toEqual([7, "plant=7"]);
  }
  // The operator's own decision.
  writeFileSync(board.dropIn, `${head}remote: { enabled: false }\n`);
  expect(inForce.reload(true)).toBe("other");
  expect([inForce.refused, inForce.config.site.nodeSelector]).toEqual([[], undefined]);
});

test("a board that started with settings left out accepts every reload that does not leave out more of them", () => {
  const board = new Board(fleet, smaller);
  const { inForce } = board;
  expect(inForce.loaded.leftOut?.faults.map(({ path: at }) => at)).toEqual(["/memory/soft"]);
  board.edit(`${smaller}log: { level: debug }\n`);
  expect(inForce.reload(true)).toBe("level");
  board.edit(`${smaller}remote: { locked: site.* }\n`);
  expect(inForce.reload(true)).toBe("refused");
  board.edit("");
  expect(inForce.reload(true)).toBe("other");
  expect([inForce.loaded.remoteVersion, inForce.loaded.leftOut]).toEqual([7, undefined]);
});

test("a reload that finds the fleet's settings lost is refused", () => {
  const { inForce, ...board } = new Board(fleet);
  for (const name of ["remote.json", "remote.copy.json"]) writeFileSync(path.join(board.folder, name), "");
  expect([inForce.reload(true), inForce.config.site.nodeSelector]).toEqual(["refused", "plant=7"]);
});

test("settings that the fleet sends are judged as a whole", () => {
  const { inForce } = new Board(fleet, "memory: { soft: 90MiB, hard: 130MiB }\n");
  expect(inForce.faultsOf({ version: 8, hash: "y", config: { memory: { soft: "110MiB" } } })).toEqual([]);
  expect(inForce.faultsOf({ version: 8, hash: "y", config: { memory: { soft: "140MiB" }, odd: 1 } })).toMatchObject([
    { path: "/odd", code: "unknown-key" },
    { path: "/memory/soft", code: "schema" },
  ]);
});
