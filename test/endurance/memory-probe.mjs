import { writeFileSync } from "node:fs";
import path from "node:path";

// Loaded into an agent before its program: at SIGUSR2 it runs a full garbage collection and measures the rest.
const folder = path.dirname(process.argv.at(-1));

process.on("SIGUSR2", async () => {
  for (let i = 0; i < 3; i++) await globalThis.gc({ execution: "async", type: "major", flavor: "last-resort" });
  const { rss, heapUsed: heap, external } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo().length;
  writeFileSync(path.join(folder, "memory.json"), JSON.stringify({ rss, heap, external, resources }));
});
