import { isDisabled, type OwnerPolicy } from "../policy.ts";
import type { CommandRequest } from "../request.ts";
import { boardCommands } from "./board-commands.ts";
import type { Definition } from "./definition.ts";
import { siteCommands } from "./site-commands.ts";

/** All commands by name. A Map, because a lookup of "__proto__" or "constructor" would succeed in a plain object. */
export const commands: ReadonlyMap<string, Definition> = new Map(
  [...boardCommands, ...siteCommands].map((one) => [one.name, one]),
);

export const find = (name: string, scope: CommandRequest["scope"]): Definition | undefined => {
  const found = commands.get(name);
  return found?.scopes.includes(scope) ? found : undefined;
};

export const namesIn = (scope: CommandRequest["scope"]): readonly string[] =>
  [...commands.values()].filter(({ scopes }) => scopes.includes(scope)).map(({ name }) => name);

/** Names of the commands that the board's owner allows. */
export const allowedCommands = (policy: OwnerPolicy): readonly string[] =>
  [...commands.keys()].filter((name) => !isDisabled(policy, name));

/**
 * The scope of a local command, which has no topic: "site" for a command that exists only for sites, or that exists for
 * sites and boards and names a board; otherwise "board".
 */
export function localScope(name: string, args: unknown): CommandRequest["scope"] {
  const scopes = commands.get(name)?.scopes ?? ["board"];
  if (!scopes.includes("board")) return "site";
  const namesBoard = typeof args === "object" && args !== null && Object.hasOwn(args, "board");
  return namesBoard && scopes.includes("site") ? "site" : "board";
}
