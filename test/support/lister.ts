import { type KubeObject, keyOf } from "../../agent/api/meta.ts";
import type { Resource } from "../../agent/api/resources.ts";
import { kindOf } from "../../agent/informer/kinds/kinds.ts";
import type { Lister } from "../../agent/informer/lister.ts";

/** A lister of objects in memory, with their informer's indices. `all` returns them in key order. */
export function listerOf<T extends KubeObject>(
  resource: Resource<T>,
  all: () => readonly T[],
  get = (key: string): T | undefined => all().find((object) => keyOf(object) === key),
): Lister<T> {
  const { indices } = kindOf(resource);
  const having = (index: string, value: string): readonly T[] =>
    all().filter((object) => indices[index]?.(object).includes(value));
  return {
    get,
    list: () => all().values(),
    byIndex: (index, value) => having(index, value).values(),
    *referencesByIndex(index, value) {
      for (const { metadata } of having(index, value)) {
        const { name, namespace, uid, resourceVersion } = metadata;
        yield { metadata: { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }) } };
      }
    },
    indexValues: (index) => new Set(all().flatMap((object) => indices[index]?.(object) ?? [])).values(),
    countByIndex: (index, value) => having(index, value).length,
    get size() {
      return all().length;
    },
  };
}
