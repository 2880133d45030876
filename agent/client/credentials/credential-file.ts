import { closeSync, openSync, readSync } from "node:fs";
import { CredentialsError } from "./credentials-error.ts";

/**
 * Maximum size of a file, in bytes. A kubeconfig with hundreds of contexts is smaller; a larger file could exhaust the
 * heap.
 */
const maxFileBytes = 1024 * 1024;

/** Reads a small text file; throws CredentialsError. `what` names its role in messages: "kubeconfig", "token file". */
export async function readCredentialFile(file: string, what: string): Promise<string> {
  try {
    const text = beginningOf(file);
    if (text.length <= maxFileBytes) return text.toString("utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    switch (code) {
      case "ENOENT":
      case "ENOTDIR":
        throw new CredentialsError(`${what} ${file} does not exist`, `Put it there, or specify another ${what}.`);
      case "EACCES":
      case "EPERM":
        throw new CredentialsError(
          `${what} ${file} cannot be read by this user`,
          "Make it readable for the user that the agent runs as (chown, chmod 600).",
          { isForbidden: true },
        );
      case "EISDIR":
        throw new CredentialsError(`${what} ${file} is a folder`, "Specify the file in that folder.");
      default:
        throw new CredentialsError(`${what} ${file} cannot be read`, "Check the disk that holds it.", {
          cause: error,
        });
    }
  }
  throw new CredentialsError(`${what} ${file} is larger than ${maxFileBytes} bytes`, "Check its content.");
}

/**
 * The content of the file, or slightly more than its first `maxFileBytes` bytes, because devices and pipes have no
 * size that could be checked first. Synchronous, because the asynchronous API would start the thread pool.
 */
function beginningOf(file: string): Buffer {
  const descriptor = openSync(file, "r");
  try {
    const parts: Buffer[] = [];
    for (let length = 0; length <= maxFileBytes; ) {
      const part = Buffer.alloc(16 * 1024);
      const count = readSync(descriptor, part);
      if (count === 0) break;
      parts.push(part.subarray(0, count));
      length += count;
    }
    return Buffer.concat(parts);
  } finally {
    closeSync(descriptor);
  }
}
