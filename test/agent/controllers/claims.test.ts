import { describe, expect, test } from "vitest";
import type { OwnerReference } from "../../../agent/api/meta.ts";
import { controlledBy } from "../../../agent/api/owners.ts";
import { daemonSets, pods } from "../../../agent/api/resources.ts";
import { adoption, claimOf, mayAdopt, release } from "../../../agent/controllers/claims.ts";
import { refTo } from "../../../agent/execution/actions.ts";
import { pod } from "../../support/builders.ts";

const ending = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const owner = (more: object = {}) => ({
  metadata: { name: "logs", namespace: "default", uid: "owner-1", resourceVersion: "1", ...more },
});
const ours = controlledBy(daemonSets, owner());
const owned = (by: OwnerReference, more: object = {}) => {
  const base = pod("a");
  return { ...base, metadata: { ...base.metadata, ownerReferences: [by], ...more } };
};
const orphan = (more: object = {}) => ({ ...pod("a"), metadata: { ...pod("a").metadata, ...more } });

describe("an owner", () => {
  test.each([
    ["keeps an object that it owns and that matches", owner(), owned(ours), true, "keep"],
    ["keeps an object that is terminating", owner(), owned(ours, ending), true, "keep"],
    ["keeps an object while the owner itself is terminating", owner(ending), owned(ours), true, "keep"],
    ["releases an object that no longer matches", owner(), owned(ours), false, "release"],
    ["does not release any object while the owner itself is terminating", owner(ending), owned(ours), false, "leave"],
    ["ignores an object with another controller", owner(), owned({ ...ours, uid: "owner-2" }), true, "leave"],
    [
      "that was recreated under its name ignores its predecessor's objects",
      owner({ uid: "owner-2" }),
      owned(ours),
      true,
      "leave",
    ],
    ["adopts an object without a controller", owner(), orphan(), true, "adopt"],
    ["adopts an object whose owners do not control it", owner(), owned({ ...ours, controller: false }), true, "adopt"],
    ["ignores an object without a controller that does not match", owner(), orphan(), false, "leave"],
    ["ignores a terminating object", owner(), orphan(ending), true, "leave"],
    ["does not adopt any object while the owner itself is terminating", owner(ending), orphan(), true, "leave"],
  ])("%s", (_, by, object, matches, claim) => {
    expect(claimOf(by, object, matches)).toBe(claim);
  });

  test("adopts only if the API itself shows the same owner", () => {
    expect(mayAdopt(owner(), owner({ resourceVersion: "9" }))).toBe(true);
    expect(mayAdopt(owner(), undefined)).toBe(false);
    expect(mayAdopt(owner(), owner({ uid: "owner-2" }))).toBe(false);
    expect(mayAdopt(owner(), owner(ending))).toBe(false);
  });
});

test("an owner adopts and releases by the object's uid alone, and does not change other owners", () => {
  const { resourceVersion: _, ...target } = refTo(pods, pod("a"));
  expect(adoption(daemonSets, owner(), refTo(pods, pod("a")))).toEqual({
    do: "patch",
    target,
    type: "strategic",
    patch: {
      metadata: {
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            kind: "DaemonSet",
            name: "logs",
            uid: "owner-1",
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
    },
  });
  expect(release(owner(), refTo(pods, pod("a")))).toEqual({
    do: "patch",
    target,
    type: "strategic",
    patch: { metadata: { ownerReferences: [{ $patch: "delete", uid: "owner-1" }] } },
  });
});
