import type { Database } from "../../storage/database/database.ts";
import { roomIn } from "../../storage/database/give-back.ts";
import { LargeBodies, largeFrom } from "../../storage/large-bodies.ts";
import type { DiskRoom } from "../../storage/state-folder.ts";
import { type KubeObject, keyOf } from "../api/meta.ts";
import { pods, type Resource, resourceName } from "../api/resources.ts";
import { jsonLength } from "../base/json.ts";
import { crowdScaleOf, isOfSite, maxKeptLength } from "../client/decoding/crowded.ts";

export interface CacheRoomDeps {
  readonly database: Database;
  /** The disk of the cache; undefined if it has no limits, as in a simulation. */
  readonly disk: () => DiskRoom | undefined;
}

/** An object that the cache has no room for. */
export interface CacheRefusal {
  readonly why: string;
  readonly bytes: number;
  /** Whether the object is to be read again once there is room; false if it is too large in any case. */
  readonly isForRoom: boolean;
}

const MiB = 2 ** 20;
/** The part of the disk that large bodies may use, and its limit. A namespace may use a quarter of that. */
const largePart = { of: 1 / 4, most: 32 * MiB, ofNamespace: 1 / 4 } as const;
/**
 * The part of the disk that is reserved for Nodes, Leases and pods. It includes the room for the cache's log, which may
 * take more than 4 MiB for a while.
 */
const reservedPart = { of: 1 / 4, least: 8 * MiB, most: 16 * MiB, mostOf: 1 / 2 } as const;
/**
 * Objects that were left out are listed again once this many times the reserve is free. Without a margin, an object at
 * the limit would be listed and left out again and again.
 */
const again = 1.25;
/**
 * The reserve is for pods of up to this size, and for changes of other stored objects that do not grow beyond it. A pod
 * is usually stored in 1 to 2 KB.
 */
const smallBody = 4 * 1024;
/** The end of the reason for leaving out an object only for lack of room. */
const forRoom = "it is left out until the cache has room";

/**
 * Limits what tenants can make the cache store, so that there is always room for Nodes, Leases and pods
 * (docs/security.md#the-room-of-the-cache). Keeps nothing in memory: the sums are read from the cache, and only for
 * objects that are large, or while the disk is nearly full.
 */
export class CacheRoom {
  readonly #deps: CacheRoomDeps;
  readonly #large: LargeBodies;

  constructor(deps: CacheRoomDeps) {
    this.#deps = deps;
    this.#large = new LargeBodies(deps.database);
  }

  /**
   * Why an object must not be stored; undefined if it may. `stored`: the size of its stored state in bytes; 0 if it is
   * not stored.
   */
  refusal(resource: Resource<KubeObject>, object: KubeObject, stored: () => number): CacheRefusal | undefined {
    if (isOfSite(resource)) return undefined;
    const most = maxKeptLength * crowdScaleOf(resource);
    const bytes = jsonLength(object, most);
    const named = `${resource.kind} ${keyOf(object)}`;
    if (bytes > most) return { why: `${named}: has more than ${most} bytes`, bytes, isForRoom: false };
    const why = this.#lack(resource, object.metadata.namespace ?? "", { bytes, stored });
    return why === undefined ? undefined : { why: `${named}: ${why}; ${forRoom}`, bytes, isForRoom: true };
  }

  /** Whether an object that was left out would be stored now. `bytes`: its size; 0 if unknown. */
  fits(resource: Resource<KubeObject>, namespace: string, bytes: number): boolean {
    return this.#lack(resource, namespace, { bytes, stored: () => 0, margin: again }) === undefined;
  }

  #lack(
    resource: Resource<KubeObject>,
    namespace: string,
    { bytes, stored, margin = 1 }: { readonly bytes: number; readonly stored: () => number; readonly margin?: number },
  ): string | undefined {
    if (bytes <= smallBody && resourceName(resource) === resourceName(pods)) return undefined;
    const disk = this.#deps.disk();
    if (disk === undefined) return undefined;
    const reserve = margin * reserveOf(disk);
    // Pages that are free within the file are used before the file grows.
    const isLow = disk.free < reserve && disk.free + roomIn(this.#deps.database).freeBytes < reserve;
    if (bytes <= largeFrom && !isLow) return undefined;
    const before = stored();
    if (bytes <= before || (before > 0 && bytes <= smallBody)) return undefined;
    if (isLow) return `less than ${inMiB(reserve)} MiB are free in the state folder's file system`;
    return bytes > largeFrom
      ? this.#lackOfLarge(disk, namespace, bytes - (before > largeFrom ? before : 0))
      : undefined;
  }

  #lackOfLarge(disk: DiskRoom, namespace: string, more: number): string | undefined {
    const most = Math.min(disk.size * largePart.of, largePart.most);
    const ofNamespace = most * largePart.ofNamespace;
    const what = `large objects (of more than ${largeFrom} bytes)`;
    if (namespace !== "" && this.#large.bytesIn(namespace) + more > ofNamespace) {
      return `the ${what} of namespace ${namespace} would use more than ${inMiB(ofNamespace)} MiB`;
    }
    return this.#large.bytes() + more > most ? `all ${what} would use more than ${inMiB(most)} MiB` : undefined;
  }
}

function reserveOf({ size }: DiskRoom): number {
  const { of, least, most, mostOf } = reservedPart;
  return Math.min(Math.max(of * size, least), most, mostOf * size);
}

/** Whether a reason, perhaps one stored by an earlier process, ceases to apply once there is room. */
export const isForRoom = (why: string): boolean => why.endsWith(forRoom);

const inMiB = (bytes: number): string => (bytes / MiB).toFixed(1);
