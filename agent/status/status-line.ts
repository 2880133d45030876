import type { Status } from "./schema.ts";

/** The state of site and board in one line, for `systemctl status`. */
export function statusLine(status: Status, problem: string | undefined = worst(status)): string {
  return [standing(status), problem, nodes(status), eviction(status), links(status), memory(status)]
    .filter((part) => part !== undefined)
    .join(" · ");
}

function worst({ health }: Status): string | undefined {
  const { type, message } = health.conditions.find(({ severity }) => severity === "critical") ?? {};
  return type && `${type}: ${message}`;
}

function standing({ leader, identity }: Status): string {
  if (leader?.role === "leader") return `leader ${identity.site} t${leader.term}`;
  return leader?.holder === undefined ? `standby ${identity.site}` : `standby of ${leader.holder} t${leader.term}`;
}

function nodes({ zones, judgement }: Status): string | undefined {
  const sum = (count: (zone: { readonly ready: number; readonly nodes: number }) => number): number =>
    (zones ?? []).reduce((total, zone) => total + count(zone), 0);
  const old = judgement?.isPaused ? " (not judged now)" : "";
  return zones && `nodes ${sum(({ ready }) => ready)}/${sum((zone) => zone.nodes)}${old}`;
}

/** The length of the eviction queue, and the highest rate of a zone in boards per second. */
const eviction = ({ eviction: of, zones = [] }: Status): string | undefined =>
  of && `evict ${of.queue} q @${Math.max(0, ...zones.map(({ rate }) => rate))}/s`;

function links({ link }: Status): string | undefined {
  if (!link) return undefined;
  const api = link.api.state === "up" ? undefined : `api ${link.api.state}`;
  const mqtt = link.mqtt && `mqtt ${link.mqtt.state}`;
  return [api, mqtt].filter((part) => part !== undefined).join(" · ") || undefined;
}

function memory({ memory: of }: Status): string | undefined {
  if (of?.rssBytes === undefined) return undefined;
  const mib = (bytes: number): number => Math.round(bytes / 2 ** 20);
  return `rss ${mib(of.rssBytes)}${of.hardBytes === undefined ? "" : `/${mib(of.hardBytes)}`}M`;
}
