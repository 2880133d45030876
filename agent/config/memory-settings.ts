import { bytes, section } from "./schema.ts";

const bounds = { min: "32MiB", max: "4GiB" };

/** The agent enforces these limits itself, because on many boards the kernel's memory cgroup is disabled. */
export const memorySettings = section("How much memory the agent may use.", {
  soft: bytes("112MiB", "Resident memory above which the agent drops its cached data.", bounds),
  hard: bytes("160MiB", "Resident memory above which the agent shuts down cleanly and restarts.", bounds),
});
