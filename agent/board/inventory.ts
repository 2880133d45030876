import { asRecord, isRecord, recordIn } from "../base/json.ts";

/**
 * The board's hardware and operating system, for display only. Strings are one line of up to 100 ASCII characters; an
 * unknown string is "", an unknown number is 0.
 */
export interface Inventory {
  readonly system: { readonly manufacturer: string; readonly model: string; readonly serial: string };
  readonly os: { readonly distro: string; readonly release: string; readonly kernel: string; readonly arch: string };
  readonly cpu: { readonly brand: string; readonly cores: number; readonly speedMHz: number };
  readonly memoryBytes: number;
  readonly disks: readonly {
    readonly device: string;
    readonly kind: string;
    readonly name: string;
    readonly bytes: number;
  }[];
}

/** The format in which the inventory's child process returns it. */
export const inventorySchema = "siteward.inventory/1";

const maxDisks = 16;

/** Parses the child's output; undefined if its format is unknown. Missing or invalid fields become "" or 0. */
export function inventoryFrom(output: string): Inventory | undefined {
  const all = recordIn(output);
  if (all?.schema !== inventorySchema) return undefined;
  const { system, os, cpu } = { system: asRecord(all.system), os: asRecord(all.os), cpu: asRecord(all.cpu) };
  const disks = Array.isArray(all.disks) ? all.disks.slice(0, maxDisks) : [];
  return {
    system: { manufacturer: word(system.manufacturer), model: word(system.model), serial: word(system.serial) },
    os: { distro: word(os.distro), release: word(os.release), kernel: word(os.kernel), arch: word(os.arch) },
    cpu: { brand: word(cpu.brand), cores: amount(cpu.cores), speedMHz: amount(cpu.speedMHz) },
    memoryBytes: amount(all.memoryBytes),
    disks: disks.flatMap((one) => {
      if (!isRecord(one)) return [];
      return [{ device: word(one.device), kind: word(one.kind), name: word(one.name), bytes: amount(one.bytes) }];
    }),
  };
}

const maxWordLength = 100;

const word = (value: unknown): string =>
  typeof value === "string"
    ? value
        .replace(/[^\x20-\x7e]/g, " ")
        .trim()
        .slice(0, maxWordLength)
    : "";

const amount = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.round(value) : 0;
