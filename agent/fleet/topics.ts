import { identityName } from "../config/identity-name.ts";

/** This board's identity in the fleet; its certificate's name is `fleet/site/board`. */
export interface Identity {
  readonly fleet: string;
  readonly site: string;
  readonly board: string;
}

/** The first level is the API's major version; each document has a fixed depth. */
const root = "sw1";
const pseudoSite = "_site";
const everybody = "_all";
const replies = "_reply";

const commandPattern = /^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*$/;
/** Same as the desk's, so that no valid id is dropped here. */
const idPattern = /^[A-Za-z0-9_-]{1,64}$/;
const longestCommand = 64;
/** A topic level: no wildcard, no control character, no leading $. */
const levelPattern = /^[A-Za-z0-9_.:@-]{1,128}$/;

export const isName = (text: string): boolean => identityName.pattern.test(text);

export const userNameOf = ({ fleet, site, board }: Identity): string => `${fleet}/${site}/${board}`;

/** A topic of this board: "up", "birth", "status", "config/reported" … */
export const boardTopic = (identity: Identity, rest: string): string => `${root}/${userNameOf(identity)}/${rest}`;

/** A topic of the site's leader, at the same depth. */
export const siteTopic = ({ fleet, site }: Identity, rest: string): string =>
  `${root}/${fleet}/${site}/${pseudoSite}/${rest}`;

export type CommandScope = "board" | "site" | "fleet";

/** Topic filters of everything sent to this board; `site` only while it leads. */
export const filtersOf = (identity: Identity) => ({
  commands: boardTopic(identity, "cmd/#"),
  desired: boardTopic(identity, "config/desired"),
  broadcast: `${root}/${identity.fleet}/${everybody}/cmd/#`,
  site: siteTopic(identity, "cmd/#"),
});

export interface CommandTopic {
  readonly scope: CommandScope;
  readonly name: string;
  readonly id: string;
}

/**
 * Parses a command's topic; `undefined`: not ours, or not of the grammar (docs/interfaces.md#order-of-checks, row 3).
 */
export function parseCommandTopic(identity: Identity, topic: string): CommandTopic | undefined {
  const scopes: readonly (readonly [string, CommandScope])[] = [
    [boardTopic(identity, "cmd/"), "board"],
    [siteTopic(identity, "cmd/"), "site"],
    [`${root}/${identity.fleet}/${everybody}/cmd/`, "fleet"],
  ];
  for (const [prefix, scope] of scopes) {
    if (!topic.startsWith(prefix)) continue;
    const [name = "", id = "", ...more] = topic.slice(prefix.length).split("/");
    const isOfGrammar = name.length <= longestCommand && commandPattern.test(name) && idPattern.test(id);
    return more.length === 0 && isOfGrammar ? { scope, name, id } : undefined;
  }
  return undefined;
}

/** The default topic for answers to a command. */
export const resultTopic = (identity: Identity, { scope, name, id }: CommandTopic): string =>
  scope === "site" ? siteTopic(identity, `res/${name}/${id}`) : boardTopic(identity, `res/${name}/${id}`);

/**
 * Accepts a response topic below the fleet's replies or our own results. Any other would let senders publish, through
 * boards, where they may not (docs/interfaces.md#order-of-checks, row 28).
 */
export function allowedResponseTopic(identity: Identity, wanted: string): string | undefined {
  const prefixes = [`${root}/${identity.fleet}/${replies}/`, boardTopic(identity, "res/")];
  const prefix = prefixes.find((one) => wanted.startsWith(one));
  if (prefix === undefined || Buffer.byteLength(wanted) > 512) return undefined;
  const levels = wanted.slice(prefix.length).split("/");
  return levels.every((level) => levelPattern.test(level)) ? wanted : undefined;
}
