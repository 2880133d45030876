import type { Status } from "../../agent/status/schema.ts";

/** The least status of a healthy board. */
export const bareStatus: Status = {
  schema: "siteward.status/1",
  writtenAt: "2026-01-01T00:00:00Z",
  writtenBootMs: 0,
  staleAfterMs: 90_000,
  bootId: "boot-1",
  pid: 1,
  version: "0.1.0",
  startedAt: "2026-01-01T00:00:00Z",
  writeFailures: 0,
  health: { level: "ok", ready: true, conditions: [] },
  identity: { site: "plant7", board: "pi-1", node: "pi-1" },
};
