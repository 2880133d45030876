import type { Lease, Node, NodeCondition } from "../../api/core.ts";
import type { ObjectMeta } from "../../api/meta.ts";

/** True if a Node differs only in its conditions' heartbeat times. */
export const isNodeHeartbeat = (stored: Node, incoming: Node): boolean =>
  isSameBut(stored, incoming, ["metadata", "status"]) &&
  isSameMeta(stored.metadata, incoming.metadata) &&
  isSameBut(stored.status, incoming.status, ["conditions"]) &&
  areSameConditions(stored.status?.conditions, incoming.status?.conditions);

/** True if a Lease differs only in its renewTime. */
export const isLeaseRenewal = (stored: Lease, incoming: Lease): boolean =>
  isSameBut(stored, incoming, ["metadata", "spec"]) &&
  isSameMeta(stored.metadata, incoming.metadata) &&
  isSameBut(stored.spec, incoming.spec, ["renewTime"]);

/**
 * Whether the metadata differ only in the resourceVersion. The uid is compared too, because a new object with the same
 * name is a different object.
 */
const isSameMeta = (a: ObjectMeta, b: ObjectMeta): boolean => isSameBut(a, b, ["resourceVersion"]);

const areSameConditions = (a: readonly NodeCondition[] = [], b: readonly NodeCondition[] = []): boolean =>
  a.length === b.length && a.every((condition, at) => isSameBut(condition, b[at], ["lastHeartbeatTime"]));

/**
 * Deep equality of plain values, without the ignored top-level properties and regardless of the order of properties.
 */
function isSameBut(a: unknown, b: unknown, ignored: readonly string[]): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const counts = (name: string): boolean => !ignored.includes(name);
  const names = Object.keys(a).filter(counts);
  if (names.length !== Object.keys(b).filter(counts).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && isSameBut(a[name], b[name], []));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
