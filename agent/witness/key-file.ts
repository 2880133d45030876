import { readFileSync } from "node:fs";
import path from "node:path";
import { replaceDurably } from "../config/durable-file.ts";
import type { KeyFile } from "./board-key.ts";

/** The key in the state folder, readable for its owner alone. A power cut leaves the former file or the new one. */
export function keyFileIn(folder: string): KeyFile {
  const file = path.join(folder, "witness.key");
  return {
    read: () => {
      try {
        return readFileSync(file, "utf8");
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
        throw error;
      }
    },
    write: (pem) => replaceDurably(file, pem, 0o600),
  };
}
