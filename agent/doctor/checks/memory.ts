import type { ReadFact } from "../../board/facts.ts";
import { type CheckResult, info, ok, skip, warn } from "../check-result.ts";

const controllers = "/sys/fs/cgroup/cgroup.controllers";
const words = ["cgroup_enable=memory", "cgroup_memory=1"];

/**
 * Checks that the kernel can limit memory, because Raspberry Pi OS disables the memory cgroup unless the command line
 * enables it.
 */
export function memoryCgroup(read: ReadFact): CheckResult {
  const found = read(controllers);
  const isOld = found === undefined && read("/proc/cgroups") !== undefined;
  if (found === undefined && !isOld) return skip("this machine does not report control groups");
  if (found?.split(/\s+/).includes("memory")) return ok("the kernel can limit memory");
  if (isOld && /^memory\s+\d+\s+\d+\s+1$/m.test(read("/proc/cgroups") ?? ""))
    return info("the kernel uses cgroup v1 for memory");
  const missing = words.filter((word) => !(read("/proc/cmdline") ?? "").split(/\s+/).includes(word));
  const files = ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"];
  const file = files.find((one) => read(one) !== undefined);
  const place = file === undefined ? "the kernel's command line" : `the one line of ${file}`;
  return warn(
    "the kernel does not limit memory: MemoryHigh= and MemoryMax= have no effect; the agent still keeps its own limit",
    missing.length > 0
      ? `Add to ${place}, then restart the board: ${missing.join(" ")}`
      : "The kernel's command line enables the memory cgroup, but this kernel does not have it: install a newer kernel.",
  );
}
