import { readFileSync } from "node:fs";
import { CredentialsError } from "./credentials-error.ts";

/**
 * Reads a small text file; `what` names its role: "kubeconfig", "token file". Errors omit the system's wording where
 * our sentence says the same.
 */
export async function readCredentialFile(file: string, what: string): Promise<string> {
  try {
    // The promise API would start the thread pool, which nothing else here needs.
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    switch (code) {
      case "ENOENT":
      case "ENOTDIR":
        throw new CredentialsError(`${what} ${file} does not exist`, `Put it there, or name another ${what}.`);
      case "EACCES":
      case "EPERM":
        throw new CredentialsError(
          `${what} ${file} may not be read`,
          "Make it readable for the user that the agent runs as (chown, chmod 600).",
          { isForbidden: true },
        );
      case "EISDIR":
        throw new CredentialsError(`${what} ${file} is a folder`, "Name the file in it.");
      default:
        throw new CredentialsError(`${what} ${file} cannot be read`, "Look at the disk that it lies on.", {
          cause: error,
        });
    }
  }
}
