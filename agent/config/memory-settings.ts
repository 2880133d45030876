import { bytes, section } from "./schema.ts";

const bounds = { min: "32MiB", max: "4GiB" };

/** Memory limits that the agent enforces itself: many kernels keep no memory cgroup. Profiles set them per board. */
export const memorySettings = section("How much memory the agent may take.", {
  soft: bytes("112MiB", "Resident memory beyond which the agent drops what it caches.", bounds),
  hard: bytes("160MiB", "Resident memory beyond which the agent ends in good order and starts anew.", bounds),
});
