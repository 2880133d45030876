import { membersOf } from "../schema/members.ts";
import { type Field, schema } from "../schema/schema.ts";
import { apiVersionOf, type ServedKind } from "../served-kind.ts";

/** The name by which clients know a type: "io.k8s.api.apps.v1.DaemonSet". */
export const schemaName = ({ group, version, kind }: ServedKind): string =>
  `io.k8s.api.${group === "" ? "core" : (group.split(".")[0] ?? group)}.${version}.${kind}`;

/**
 * The fields of kinds and their types, with all types that these refer to. Required fields are not marked, because the
 * schema does not say which ones they are. Built for each request, and not kept.
 */
export function schemasOf(kinds: readonly ServedKind[]): Readonly<Record<string, object>> {
  const types = new Set(kinds.flatMap(({ kind }) => typesIn(kind)));
  // The set grows while it is walked; each type is added only once, so types may contain each other.
  for (const type of types) for (const inner of typesIn(type)) types.add(inner);
  return {
    ...Object.fromEntries(kinds.map((kind) => [schemaName(kind), kindSchema(kind)])),
    ...Object.fromEntries([...types].map((type) => [named(type), special[type] ?? messageSchema(type)])),
  };
}

const kindSchema = (kind: ServedKind): object => ({
  description: `${kind.kind}, served by an embedded site. Its fields are those of Kubernetes ${apiVersionOf(kind)}, by name and type.`,
  type: "object",
  properties: {
    apiVersion: { type: "string", description: "Group and version of the object." },
    kind: { type: "string", description: "Kind of the object." },
    ...propertiesOf(kind.kind),
  },
  "x-kubernetes-group-version-kind": [{ group: kind.group, version: kind.version, kind: kind.kind }],
});

const messageSchema = (message: string): object => ({ type: "object", properties: propertiesOf(message) });

const propertiesOf = (message: string): object =>
  Object.fromEntries(membersOf(message).map((member) => [member.name, memberSchema(member)]));

function memberSchema({ form, type }: Field): object {
  switch (form) {
    case "list":
      return { type: "array", items: typeSchema(type) };
    case "map":
      return { type: "object", additionalProperties: typeSchema(type) };
    case "one":
    case "optional":
    case "inline":
      return typeSchema(type);
    default:
      return form satisfies never;
  }
}

const typeSchema = (type: string): object => plain[type] ?? { $ref: `#/components/schemas/${named(type)}` };

/** The name of a type in the document, which clients show where a field refers to the type. */
const named = (type: string): string => otherNames[type] ?? type;

const typesIn = (message: string): readonly string[] =>
  schema.has(message) ? membersOf(message).flatMap(({ type }) => (type in plain ? [] : [type])) : [];

/** Types without a name of their own. */
const plain: Readonly<Record<string, object>> = {
  text: { type: "string" },
  bool: { type: "boolean" },
  int: { type: "integer", format: "int32" },
  long: { type: "integer", format: "int64" },
  bytes: { type: "string", format: "byte" },
  Time: { type: "string", format: "date-time" },
  MicroTime: { type: "string", format: "date-time" },
};

/** Types that clients know by name and that are not messages. */
const special: Readonly<Record<string, object>> = {
  Quantity: { description: 'An amount like "500m" or "2Gi".', oneOf: [{ type: "string" }, { type: "number" }] },
  IntOrString: { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] },
  FieldsV1: { type: "object" },
  Raw: { type: "object" },
};

/** Types whose name here differs from Kubernetes'; no document contains both names. */
const otherNames: Readonly<Record<string, string>> = { Raw: "RawExtension", SlicePort: "EndpointPort" };
