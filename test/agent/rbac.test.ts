import { expect, test } from "vitest";
import { permitted, rbacObjects } from "../support/rbac.ts";

/** That each of these permissions is used, and no other is missed, is counted on a real API server: test/kube/permissions.test.ts. */
test("systemd/rbac.yaml grants its permissions to one service account, none of them twice or by a wildcard", () => {
  const all = permitted();
  expect(new Set(all).size).toBe(all.length);
  expect(all.filter((one) => one.includes("*"))).toEqual([]);
  const account = { kind: "ServiceAccount", name: "siteward", namespace: "kube-system" };
  const bindings = rbacObjects().filter(({ kind }) => kind.endsWith("Binding"));
  expect(bindings).toHaveLength(3);
  for (const { subjects } of bindings) expect(subjects).toEqual([account]);
});

test("systemd/rbac.yaml permits writing only the agents' own statuses, and reading no secrets", () => {
  const writes = permitted().filter((one) => /^(create|patch|update|delete)/.test(one));
  expect(writes.filter((one) => one.includes("/"))).toEqual([
    "patch nodes/status",
    "patch pods/status",
    "create pods/binding",
    "create pods/eviction",
    "patch daemonsets/status.apps",
  ]);
  expect(permitted().filter((one) => /secrets|configmaps|serviceaccounts/.test(one))).toEqual([]);
});
