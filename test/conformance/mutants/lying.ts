import { itemsAt, type JsonObject, type JsonValue, textAt, valueAt, withMember } from "../../../agent/api/json.ts";
import { type Asked, isSuccess, type Mutant, says, withMetadata } from "./mutant.ts";

const isCollection = ({ method, path }: Asked): boolean =>
  method === "GET" && /\/(leases|events|configmaps|pods)$/.test(path);

/** Changes lists only. */
const inLists = (change: (list: JsonObject, asked: Asked) => JsonObject): Mutant["made"] =>
  says((body, asked, status) => (isCollection(asked) && isSuccess(status) ? { body: change(body, asked) } : undefined));

const withItems = (list: JsonObject, items: readonly JsonValue[]): JsonObject => ({ ...list, items });

const shiftedVersion = (body: JsonObject, by: bigint): JsonObject =>
  withMetadata(body, (metadata) => ({
    ...metadata,
    resourceVersion: String(BigInt(textAt(metadata, "resourceVersion")) + by),
  }));

const afterWrites = (method: string, change: (body: JsonObject, asked: Asked) => JsonObject): Mutant["made"] =>
  says((body, asked, status) =>
    asked.method === method && isSuccess(status) ? { body: change(body, asked) } : undefined,
  );

/** Servers whose answers differ from their acts or their objects. */
export const lyingMutants: readonly Mutant[] = [
  {
    does: "loses an item between two pages",
    breaks: [
      "page-size",
      "page-one-version",
      "page-of-one",
      "page-selected",
      "page-not-older",
      "page-all-namespaces",
      "each-listed",
      "page-then-watch",
    ],
    made: inLists((list) =>
      textAt(list, "metadata", "continue") === "" ? list : withItems(list, itemsAt(list, "items").slice(0, -1)),
    ),
  },
  {
    does: "repeats an item on the next page",
    breaks: ["page-rest"],
    made: inLists((list, { query }) =>
      query.has("continue")
        ? withItems(list, [...itemsAt(list, "items").slice(0, 1), ...itemsAt(list, "items")])
        : list,
    ),
  },
  {
    does: "has a further page after the last one",
    breaks: ["page-exact", "page-size"],
    made: inLists((list, { query }) =>
      query.has("limit") ? withMetadata(list, (one) => ({ continue: "more", ...one })) : list,
    ),
  },
  {
    does: "returns nothing when any state is accepted",
    breaks: ["version-any"],
    made: inLists((list, { query }) => (query.get("resourceVersion") === "0" ? withItems(list, []) : list)),
  },
  {
    does: "adds an annotation to written objects",
    breaks: ["finalizer-set-by-server"],
    made: says((body, { method, body: sent }) => {
      const deletionTimestamp = valueAt(sent, "metadata", "deletionTimestamp");
      if (method !== "POST" || deletionTimestamp === undefined) return undefined;
      return { body: withMetadata(body, (one) => ({ ...one, deletionTimestamp })) };
    }),
  },
  {
    does: "reports a wrong remaining count",
    breaks: ["page-remaining"],
    made: inLists((list) =>
      withMetadata(list, (one) => (one.remainingItemCount === undefined ? one : { ...one, remainingItemCount: 1 })),
    ),
  },
  {
    does: "loses the last item of a list",
    breaks: ["list-after-write", "list-scope", "version-not-older", "compacted-state-stays", "expired-then-list"],
    made: inLists((list) => withItems(list, itemsAt(list, "items").slice(0, -1))),
  },
  {
    does: "lists in another order",
    breaks: ["list-order"],
    made: inLists((list) => withItems(list, itemsAt(list, "items").toReversed())),
  },
  {
    does: "reports a list version ahead of its items",
    breaks: ["watch-from-list", "watch-resume-deleted"],
    made: ahead(),
  },
  {
    does: "reports a list version one ahead of its items",
    breaks: ["list-position"],
    made: inLists((list) => shiftedVersion(list, 1n)),
  },
  {
    does: "reports a list version older than its items",
    breaks: ["list-version", "watch-from-list"],
    made: inLists((list) => withMetadata(list, (one) => ({ ...one, resourceVersion: "1" }))),
  },
  { does: "returns an outdated list", breaks: ["list-after-write", "version-unset"], made: late() },
  {
    does: "mixes outdated items into a list",
    breaks: ["list-consistent"],
    made: mixing(),
  },
  {
    does: "omits the kind of a list",
    breaks: ["list-shape"],
    made: inLists((list) => withMember(list, "kind", undefined)),
  },
  {
    does: "returns a removed member",
    breaks: ["get-after-write"],
    made: says((body, { method, path }) =>
      method === "GET" && path.includes("/configmaps/") ? { body: { ...body, data: { key: "first" } } } : undefined,
    ),
  },
  {
    does: "returns the times of a Lease with seconds only",
    breaks: ["lease-micro-time", "lease-metadata"],
    made: says((body) => {
      const renewTime = textAt(body, "spec", "renewTime");
      if (renewTime === "") return undefined;
      return { body: { ...body, spec: { ...Object(body.spec), renewTime: renewTime.replace(/\.\d+/, ".000000") } } };
    }),
  },
  {
    does: "returns the times of a Lease with milliseconds, without zeros",
    breaks: ["lease-micro-time"],
    made: says((body) => {
      const renewTime = textAt(body, "spec", "renewTime");
      if (renewTime === "") return undefined;
      return { body: { ...body, spec: { ...Object(body.spec), renewTime: renewTime.replace(/0+Z$/, "Z") } } };
    }),
  },
  {
    does: "gives a patched object another uid",
    breaks: ["apply", "watch-objects"],
    made: afterWrites("PATCH", (body) => withMetadata(body, (one) => ({ ...one, uid: "another" }))),
  },
  {
    does: "keeps the version after a write",
    breaks: ["version-rises", "lease-renewal"],
    made: afterWrites("PATCH", (body) => shiftedVersion(body, -1n)),
  },
  {
    does: "assigns a new version without a change",
    breaks: ["version-of-no-change"],
    made: afterWrites("PUT", (body) => shiftedVersion(body, 1n)),
  },
  {
    does: "raises the generation for labels",
    breaks: ["generation"],
    made: afterWrites("PATCH", (body, asked) =>
      valueAt(asked.body, "metadata", "labels") === undefined
        ? body
        : withMetadata(body, (one) => ({ ...one, generation: Number(one.generation ?? 0) + 1 })),
    ),
  },
  {
    does: "counts no generation",
    breaks: ["generation", "delete-grace-generation"],
    made: says((body) => ({
      body: withMetadata(body, (one) => withMember(one, "generation", one.generation === undefined ? undefined : 1)),
    })),
  },
  {
    does: "accepts a client's uid",
    breaks: ["identity"],
    made: afterWrites("POST", (body, asked) =>
      withMetadata(body, (one) => ({ ...one, uid: textAt(asked.body, "metadata", "uid") || String(one.uid) })),
    ),
  },
  {
    does: "returns creation times with fractions",
    breaks: ["identity"],
    made: says((body) => ({
      body: withMetadata(body, (one) => ({
        ...one,
        creationTimestamp: textAt(one, "creationTimestamp").replace("Z", ".5Z"),
      })),
    })),
  },
  {
    does: "marks a deletion without a grace period",
    breaks: ["delete-grace", "delete-asked-grace"],
    made: says((body) => ({
      body: withMetadata(body, (one) => withMember(one, "deletionGracePeriodSeconds", undefined)),
    })),
  },
  {
    does: "hides the mark of a deletion",
    breaks: ["delete-grace", "finalizer", "eviction"],
    made: says((body) => ({ body: withMetadata(body, (one) => withMember(one, "deletionTimestamp", undefined)) })),
  },
  {
    does: "does not name the deleted object",
    breaks: ["delete"],
    made: afterWrites("DELETE", (body) => withMember(body, "details", undefined)),
  },
];

/** An outdated list with the newest version: a watch from there misses the writes in between. */
function ahead(): Mutant["made"] {
  return inLists((list) => shiftedVersion(list, 3n));
}

/** Returns each collection in its state of the previous request. */
function late(): Mutant["made"] {
  const before = new Map<string, JsonObject>();
  return inLists((list, { path }) => {
    const shown = before.get(path) ?? list;
    before.set(path, list);
    return shown;
  });
}

/** Returns the first of several items in its state of twenty lists ago. */
function mixing(): Mutant["made"] {
  const before: JsonValue[] = [];
  return inLists((list) => {
    const [first, ...others] = itemsAt(list, "items");
    if (first === undefined || others.length === 0) return list;
    before.push(first);
    return withItems(list, [before.length > 20 ? (before.shift() ?? first) : first, ...others]);
  });
}
