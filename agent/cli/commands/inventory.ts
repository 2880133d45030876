import { createRequire } from "node:module";
import { exit } from "../../base/exit-codes.ts";
import type { Run } from "../../base/io.ts";
import { type Inventory, inventoryFrom, inventorySchema } from "../../board/inventory.ts";

/**
 * `siteward inventory`: lists the hardware. The package systeminformation starts a dozen tools and takes 40 MB, so the
 * agent runs this command as a child process, when it starts and once a day.
 */
export const run: Run = async (io, { flags }) => {
  const found = await readHardware();
  const inventory = inventoryFrom(JSON.stringify(found));
  if (!inventory) throw new Error("the output of the inventory is invalid");
  if (flags.has("json")) io.stdout.json(found);
  else io.stdout.write(textOf(inventory));
  return exit.ok;
};

async function readHardware(): Promise<object> {
  // The package is CommonJS and, when bundled, needs a global `require` for Node's modules.
  Reflect.set(globalThis, "require", createRequire(import.meta.url));
  const { default: of } = await import("systeminformation");
  const [system, os, cpu, memory, disks] = await Promise.all([
    of.system(),
    of.osInfo(),
    of.cpu(),
    of.mem(),
    of.diskLayout(),
  ]);
  return {
    schema: inventorySchema,
    system: { manufacturer: system.manufacturer, model: system.model, serial: system.serial },
    os: { distro: os.distro, release: os.release, kernel: os.kernel, arch: os.arch },
    cpu: { brand: cpu.brand, cores: cpu.cores, speedMHz: cpu.speed * 1000 },
    memoryBytes: memory.total,
    disks: disks.map(({ device, type, name, size }) => ({ device, kind: type, name, bytes: size })),
  };
}

function textOf({ system, os, cpu, memoryBytes, disks }: Inventory): string {
  const gibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  const rows = [
    ["Board", [system.manufacturer, system.model, system.serial].filter(Boolean).join(" ")],
    ["System", [os.distro, os.release, os.kernel, os.arch].filter(Boolean).join(" ")],
    ["Processor", `${cpu.brand}, ${cpu.cores} cores${cpu.speedMHz > 0 ? `, ${cpu.speedMHz} MHz` : ""}`],
    ["Memory", gibibytes(memoryBytes)],
    ...disks.map(({ device, kind, name, bytes }) => ["Disk", [device, kind, name, gibibytes(bytes)].join(" ")]),
  ];
  return `${rows.map(([label = "", text = ""]) => `${label.padEnd(10)} ${text}`.trimEnd()).join("\n")}\n`;
}
