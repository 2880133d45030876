import { type Identity, type Key, keyOf, type StoredObject } from "../../storage/object.ts";
import { either, mapped, optional, record, text } from "./form.ts";

const usualUid = (name: string): string => `uid-${name}`;

const brief = mapped(
  text({
    about:
      "name@version, or namespace/name@version, and behind a # the uid where it is another object of the same name: " +
      "foo@2#second. Objects of one name have one uid otherwise.",
    pattern: /^([^/@#]+\/)?[^/@#]+@[^@#]+(#.+)?$/,
    takes: "a text such as foo@2, default/foo@2 or foo@2#second",
    examples: ["foo@2", "default/foo@2", "foo@3#second"],
  }),
  (value): StoredObject => {
    const [, namespace, name = "", resourceVersion = "", uid = usualUid(name)] =
      /^(?:([^/]+)\/)?([^@]+)@([^#]+)(?:#(.+))?$/.exec(value) ?? [];
    return { metadata: { name, ...(namespace !== undefined && { namespace }), uid, resourceVersion } };
  },
);

const full = mapped(
  record(
    {
      name: text({ about: "Its name." }),
      namespace: optional(text({ about: "Its namespace, if it has one." })),
      version: text({ about: "Its resourceVersion." }),
      uid: optional(text({ about: "Its uid; by default all objects of one name have the same." })),
    },
    { about: "The same, member by member." },
  ),
  ({ name, namespace, version, uid = usualUid(name) }): StoredObject => ({
    metadata: { name, ...(namespace !== undefined && { namespace }), uid, resourceVersion: version },
  }),
);

export const objectForm = either([brief, full], { about: "An object: where it is, and its version." });

/** "foo@2", "default/foo@2". */
export const shown = (key: Key, { version }: Identity): string => `${key}@${version}`;

export const shownObject = (object: StoredObject): string =>
  shown(keyOf(object), { uid: object.metadata.uid, version: object.metadata.resourceVersion });
