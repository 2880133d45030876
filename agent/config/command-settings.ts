import { path, section } from "./schema.ts";

/** The board owner's rules for commands. They are in files on the board, which the fleet cannot change. */
export const commandSettings = section("Commands of the fleet and of operators on the board.", {
  trust: path(
    "/etc/siteward/trust.d",
    "The folder of trusted keys. Once it holds a key, unsigned commands that change something are refused.",
  ),
  policy: path(
    "/etc/siteward/policy.yaml",
    "The file that lists the commands that this board refuses, even if they are signed.",
  ),
});
