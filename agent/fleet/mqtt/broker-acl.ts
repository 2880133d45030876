import type { FleetIdentity } from "./topics.ts";
import { filtersOf, siteTopic, userNameOf } from "./topics.ts";

export interface AclOptions {
  readonly fleet: string;
  /** The names of the boards, by site. */
  readonly sites: ReadonlyMap<string, readonly string[]>;
  /** User names of the fleet's operators. */
  readonly operators: readonly string[];
}

/** Topics below its own prefix to which a board may publish. */
const written = ["up", "birth", "status", "res/#", "event/#", "config/reported"] as const;
/**
 * Topics below its own prefix that a board may read: its commands and settings, and the probe with which siteward
 * doctor tests the ACL.
 */
const read = ["cmd/#", "config/desired", "res/_doctor"] as const;
/**
 * Site topics to which the leader publishes. Every board is granted them by name, because no ACL pattern means "of the
 * same site".
 */
const siteWritten = ["leader", "status", "res/#", "event/#"] as const;

interface Rights {
  readonly user: string;
  readonly read: readonly string[];
  readonly write: readonly string[];
}

function* boardRights({ fleet, sites }: AclOptions): IterableIterator<Rights> {
  for (const [site, boards] of sites) {
    for (const board of boards) {
      const identity: FleetIdentity = { fleet, site, board };
      yield {
        user: userNameOf(identity),
        read: [filtersOf(identity).site, filtersOf(identity).broadcast],
        write: [...siteWritten.map((rest) => siteTopic(identity, rest)), `sw1/${fleet}/_reply/#`],
      };
    }
  }
}

/** An ACL file for mosquitto: patterns for a board's own topics, and rules per user (its certificate's CN) for the site's. */
export function mosquittoAcl(options: AclOptions): string {
  const prefix = "sw1/%u/";
  const lines = [
    "# Written by siteward broker-acl. In mosquitto.conf: use_identity_as_username true, use_username_as_clientid true.",
    ...read.map((rest) => `pattern read ${prefix}${rest}`),
    ...written.map((rest) => `pattern write ${prefix}${rest}`),
  ];
  for (const { user, read, write } of boardRights(options)) {
    lines.push("", `user ${user}`);
    lines.push(...read.map((topic) => `topic read ${topic}`), ...write.map((topic) => `topic write ${topic}`));
  }
  for (const operator of options.operators)
    lines.push("", `user ${operator}`, `topic readwrite sw1/${options.fleet}/#`);
  return `${lines.join("\n")}\n`;
}

/** An ACL file for EMQX (acl.conf); the user name is the certificate's CN (`peer_cert_as_username = cn`). */
export function emqxAcl(options: AclOptions): string {
  const prefix = `sw1/\${username}/`;
  const who = (user: string): string => `{user, ${quoted(user)}}`;
  const rule = (whose: string, action: string, topics: readonly string[]): string =>
    `{allow, ${whose}, ${action}, [${topics.map(quoted).join(", ")}]}.`;
  const lines = [
    "%% Written by siteward broker-acl. Listener: peer_cert_as_username = cn, peer_cert_as_clientid = cn.",
    rule(
      "all",
      "subscribe",
      read.map((rest) => `${prefix}${rest}`),
    ),
    rule(
      "all",
      "publish",
      written.map((rest) => `${prefix}${rest}`),
    ),
  ];
  for (const { user, read, write } of boardRights(options))
    lines.push(rule(who(user), "subscribe", read), rule(who(user), "publish", write));
  for (const operator of options.operators) lines.push(rule(who(operator), "all", [`sw1/${options.fleet}/#`]));
  lines.push("{deny, all}.");
  return `${lines.join("\n")}\n`;
}

const quoted = (text: string): string => JSON.stringify(text);
