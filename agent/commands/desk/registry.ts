import { boardCommands } from "./board-commands.ts";
import type { Definition } from "./definition.ts";
import type { Request } from "./request.ts";
import { siteCommands } from "./site-commands.ts";

/** A Map: in a plain object "__proto__" and "constructor" would be commands. */
export const commands: ReadonlyMap<string, Definition> = new Map(
  [...boardCommands, ...siteCommands].map((one) => [one.name, one]),
);

export const find = (name: string, scope: Request["scope"]): Definition | undefined => {
  const found = commands.get(name);
  return found?.scopes.includes(scope) ? found : undefined;
};

export const namesIn = (scope: Request["scope"]): readonly string[] =>
  [...commands.values()].filter(({ scopes }) => scopes.includes(scope)).map(({ name }) => name);

/**
 * The scope of a local command, which has no topic: site commands get "site"; those for both get "board" unless a board
 * is named.
 */
export function localScope(name: string, args: unknown): Request["scope"] {
  const scopes = commands.get(name)?.scopes ?? ["board"];
  if (!scopes.includes("board")) return "site";
  const namesBoard = typeof args === "object" && args !== null && Object.hasOwn(args, "board");
  return namesBoard && scopes.includes("site") ? "site" : "board";
}
