import { path, section } from "./schema.ts";

/** The board owner's rules for commands, in files of the board's own: the fleet cannot change them. */
export const commandSettings = section("Commands of the fleet and of operators on the board.", {
  trust: path(
    "/etc/siteward/trust.d",
    "The folder of the keys whose signatures count; with the first one, what is unsigned changes nothing any more.",
  ),
  policy: path("/etc/siteward/policy.yaml", "What is not allowed on this board, whoever signs it."),
});
