import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Places } from "../client/credentials/credential-resolution.ts";

/**
 * The path of a credential that the service uses: the configured one, the one passed by systemd, or the enrolled one.
 */
export function credentialFile(configured: string | undefined, name: string, { env, etc }: Places): string {
  if (configured !== undefined) return configured;
  const passed = env.CREDENTIALS_DIRECTORY && join(env.CREDENTIALS_DIRECTORY, name);
  return passed && existsSync(passed) ? passed : join(etc, "credentials", name);
}
