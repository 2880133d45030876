import { readFileSync } from "node:fs";
import path from "node:path";
import { replaceDurably } from "../config/durable-file.ts";
import { codeOf } from "../config/read-text.ts";
import type { KeyFile } from "./board-key.ts";
import type { KubeletFile } from "./kubelet-health.ts";

/** The key in the state folder, readable only by its owner. */
export const keyFileIn = (folder: string): KeyFile => fileAt(path.join(folder, "witness.key"));

/**
 * The file with the facts about the board's kubelet, in the state folder. It does not depend on the databases there.
 */
export const kubeletFileIn = (folder: string): KubeletFile => fileAt(path.join(folder, "witness.kubelet"));

/** After a power cut, the file has the previous text or the new one. */
const fileAt = (file: string) => ({
  read: (): string | undefined => {
    try {
      return readFileSync(file, "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  },
  write: (text: string): void => replaceDurably(file, text, 0o600),
});
