import { expect, test } from "vitest";
import { identityOf, isSame, keyOf } from "../../storage/object.ts";

const object = (name: string, namespace?: string) => ({
  metadata: { name, uid: "u", resourceVersion: "1", ...(namespace !== undefined && { namespace }) },
});

test("a key is namespace/name, or the name alone", () => {
  expect(keyOf(object("web", "shop"))).toBe("shop/web");
  expect(keyOf(object("pi-1"))).toBe("pi-1");
  expect(keyOf(object("pi-1", ""))).toBe("pi-1");
});

test("two states are equal if uid and version are equal", () => {
  const { metadata } = object("web");
  const identity = identityOf({ metadata });
  expect(isSame(identity, identityOf({ metadata }))).toBe(true);
  expect(isSame(identity, identityOf({ metadata: { ...metadata, uid: "v" } }))).toBe(false);
  expect(isSame(identity, identityOf({ metadata: { ...metadata, resourceVersion: "2" } }))).toBe(false);
});
