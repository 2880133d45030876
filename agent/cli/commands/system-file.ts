import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { HasDisposition } from "../../base/errors.ts";
import { replaceDurably } from "../../config/durable-file.ts";

class NotWritten extends Error implements HasDisposition {
  override readonly name = "NotWritten";
  readonly disposition = "exit";
}

/** Replaces a file for systemd atomically and durably, with mode 644. */
export function writeSystemFile(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
    replaceDurably(file, text, 0o644);
  } catch (cause) {
    throw new NotWritten(`${file} cannot be written`, { cause });
  }
}
