import type { Key } from "../../../storage/object.ts";
import { type KubeObject, keyOf, namespaceIn } from "../../api/meta.ts";
import type { Resource } from "../../api/resources.ts";
import { type CacheRoom, isForRoom } from "../cache-room.ts";

export interface LeftOutObjectsDeps {
  readonly resource: Resource<KubeObject>;
  /** Without it, no object is refused. */
  readonly room: CacheRoom | undefined;
  /** The length of the newest stored state of an object; 0 if there is none. */
  readonly bytes: (key: Key) => number;
  /** The unusable objects that an earlier process knew, with the reasons. */
  readonly known: Iterable<readonly [Key, string]>;
}

/**
 * Maximum number of objects that are remembered. That is enough, because a list begins as soon as any one of them fits.
 */
const maxObjects = 100;

/**
 * The objects of one resource for which the cache has no room. They are listed again once one of them fits; until then,
 * watches are kept short so that this is checked every minute.
 */
export class LeftOutObjects {
  readonly #deps: LeftOutObjectsDeps;
  /** The size of each object in bytes; 0 if unknown. */
  readonly #bytes = new Map<Key, number>();

  constructor(deps: LeftOutObjectsDeps) {
    this.#deps = deps;
    for (const [key, why] of deps.known) if (isForRoom(why)) this.#add(key, 0);
  }

  /** How long a watch may last, in seconds; undefined for the usual time. */
  get watchSeconds(): number | undefined {
    return this.#bytes.size === 0 ? undefined : 60;
  }

  /** Whether one of them fits now. */
  get haveRoomAgain(): boolean {
    const { room, resource } = this.#deps;
    for (const [key, bytes] of this.#bytes) {
      if (room?.fits(resource, namespaceIn(key), bytes)) return true;
    }
    return false;
  }

  /**
   * Why the cache must not store this state of an object, which is then left out; undefined if it may. `write` stores
   * the earlier states that are still in memory; it is called only if the size of the stored state matters.
   */
  refusal(object: KubeObject, write: () => void): string | undefined {
    const { room, resource, bytes } = this.#deps;
    const key = keyOf(object);
    const stored = (): number => {
      write();
      return bytes(key);
    };
    const refusal = room?.refusal(resource, object, stored);
    if (refusal?.isForRoom) this.#add(key, refusal.bytes);
    else this.#bytes.delete(key);
    return refusal?.why;
  }

  /** The object was deleted. */
  delete(key: Key): void {
    this.#bytes.delete(key);
  }

  /** A list begins, which finds them again. */
  clear(): void {
    this.#bytes.clear();
  }

  #add(key: Key, bytes: number): void {
    if (this.#bytes.size < maxObjects || this.#bytes.has(key)) this.#bytes.set(key, bytes);
  }
}
