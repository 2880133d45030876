import { identityName } from "../../config/identity-name.ts";

/** This board's identity in the fleet; its certificate's name is `fleet/site/board`. */
export interface FleetIdentity {
  readonly fleet: string;
  readonly site: string;
  readonly board: string;
}

/** The first topic level: the major version of this interface. */
const root = "sw1";
const pseudoSite = "_site";
const allBoards = "_all";
const replies = "_reply";

const commandPattern = /^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*$/;
/** The pattern of ids; the desk has the same one, so that no valid id is dropped here. */
const idPattern = /^[A-Za-z0-9_-]{1,64}$/;
const maxCommandLength = 64;
/** Brokers limit the number of topic levels, some of them to eight, and disconnect a client that exceeds the limit. */
const maxLevels = 8;
/** A topic level: no wildcard, no control character, no leading $. */
const levelPattern = /^[A-Za-z0-9_.:@-]{1,128}$/;

export const isName = (text: string): boolean => identityName.pattern.test(text);

export const userNameOf = ({ fleet, site, board }: FleetIdentity): string => `${fleet}/${site}/${board}`;

/** A topic of this board: "up", "birth", "status", "config/reported" … */
export const boardTopic = (identity: FleetIdentity, rest: string): string => `${root}/${userNameOf(identity)}/${rest}`;

/**
 * A topic of the site's leader. It has as many levels as a topic of a board, with `_site` in place of the board's name.
 */
export const siteTopic = ({ fleet, site }: FleetIdentity, rest: string): string =>
  `${root}/${fleet}/${site}/${pseudoSite}/${rest}`;

/** The topic prefixes of this board's messages: the board's own, its site's, and that of replies to the fleet. */
export const ownPrefixes = (identity: FleetIdentity): readonly string[] => [
  boardTopic(identity, ""),
  siteTopic(identity, ""),
  `${root}/${identity.fleet}/${replies}/`,
];

export type CommandScope = "board" | "site" | "fleet";

/** The topic filters that this board subscribes to; `site` only while it leads. */
export const filtersOf = (identity: FleetIdentity) => ({
  commands: boardTopic(identity, "cmd/#"),
  desired: boardTopic(identity, "config/desired"),
  broadcast: `${root}/${identity.fleet}/${allBoards}/cmd/#`,
  site: siteTopic(identity, "cmd/#"),
});

export interface CommandTopic {
  readonly scope: CommandScope;
  readonly name: string;
  readonly id: string;
}

/**
 * Parses a command's topic; undefined if it is not for this board or not valid (docs/interfaces.md#order-of-checks, row
 * 3).
 */
export function parseCommandTopic(identity: FleetIdentity, topic: string): CommandTopic | undefined {
  const scopes: readonly (readonly [string, CommandScope])[] = [
    [boardTopic(identity, "cmd/"), "board"],
    [siteTopic(identity, "cmd/"), "site"],
    [`${root}/${identity.fleet}/${allBoards}/cmd/`, "fleet"],
  ];
  for (const [prefix, scope] of scopes) {
    if (!topic.startsWith(prefix)) continue;
    const [name = "", id = "", ...more] = topic.slice(prefix.length).split("/");
    const isValid = name.length <= maxCommandLength && commandPattern.test(name) && idPattern.test(id);
    return more.length === 0 && isValid ? { scope, name, id } : undefined;
  }
  return undefined;
}

/** The default topic for answers to a command. */
export const resultTopic = (identity: FleetIdentity, { scope, name, id }: CommandTopic): string =>
  scope === "site" ? siteTopic(identity, `res/${name}/${id}`) : boardTopic(identity, `res/${name}/${id}`);

/**
 * The response topic that a sender requests, if it is below the fleet's replies or this board's results; undefined
 * otherwise. With any other topic, a sender could publish through a board to topics that the ACL forbids
 * (docs/interfaces.md#order-of-checks, row 28).
 */
export function allowedResponseTopic(identity: FleetIdentity, wanted: string): string | undefined {
  const prefixes = [`${root}/${identity.fleet}/${replies}/`, boardTopic(identity, "res/")];
  const prefix = prefixes.find((one) => wanted.startsWith(one));
  if (prefix === undefined || Buffer.byteLength(wanted) > 512) return undefined;
  const isFlat = wanted.split("/", maxLevels + 1).length <= maxLevels;
  const levels = wanted.slice(prefix.length).split("/");
  return isFlat && levels.every((level) => levelPattern.test(level)) ? wanted : undefined;
}
