import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../agent/api/json.ts";
import { valueAt } from "../../../../agent/api/json.ts";
import { type Answer, merge, TestSite } from "../site.ts";

const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i:1" }] } };
const at = (kind: string): string => `/apis/apps/v1/namespaces/default/${kind.toLowerCase()}s`;

const workload = (kind: string, more: JsonObject): JsonObject => ({
  kind,
  apiVersion: "apps/v1",
  metadata: { name: "w" },
  spec: { selector: { matchLabels: { a: "b" } }, template, ...more },
});

const causesOf = ({ status, body }: Answer): unknown => [status, valueAt(body, "details", "causes")];

describe("the update strategy of a workload gets defaults", () => {
  test.each([
    ["DaemonSet", "updateStrategy", {}, { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } }],
    [
      "DaemonSet",
      "updateStrategy",
      { rollingUpdate: { maxUnavailable: 2 } },
      { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2, maxSurge: 0 } },
    ],
    [
      "DaemonSet",
      "updateStrategy",
      { type: "OnDelete", rollingUpdate: { maxSurge: 1 } },
      { type: "OnDelete", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    ],
    [
      "Deployment",
      "strategy",
      { rollingUpdate: { maxUnavailable: 2 } },
      { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2, maxSurge: "25%" } },
    ],
    [
      "StatefulSet",
      "updateStrategy",
      { rollingUpdate: {} },
      { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
    ],
  ])("%s: %s %j", async (kind, name, given, kept) => {
    await using site = new TestSite();
    const created = await site.create(at(kind), workload(kind, { [name]: given }));
    expect(valueAt(created, "spec", name)).toEqual(kept);
  });

  test("even when it is changed, and so does the retention of a StatefulSet's claims", async () => {
    await using site = new TestSite();
    await site.create(at("DaemonSet"), workload("DaemonSet", {}));
    const patch = { spec: { updateStrategy: { type: null, rollingUpdate: { maxUnavailable: 3 } } } };
    const { body } = await site.ask("PATCH", `${at("DaemonSet")}/w`, patch, { type: merge });
    expect(valueAt(body, "spec", "updateStrategy")).toEqual({
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: 3, maxSurge: 0 },
    });
    const claims = { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } };
    const set = await site.create(at("StatefulSet"), workload("StatefulSet", claims));
    expect(valueAt(set, "spec", "persistentVolumeClaimRetentionPolicy")).toEqual({
      whenDeleted: "Delete",
      whenScaled: "Retain",
    });
  });

  test("but a strategy without rolling updates is not changed", async () => {
    await using site = new TestSite();
    const kept = async (kind: string, name: string, given: JsonObject): Promise<unknown> =>
      valueAt((await site.ask("POST", `${at(kind)}?dryRun=All`, workload(kind, { [name]: given }))).body, "spec", name);
    expect([
      await kept("DaemonSet", "updateStrategy", { type: "OnDelete" }),
      await kept("Deployment", "strategy", { type: "Recreate" }),
      await kept("Deployment", "strategy", { rollingUpdate: { maxSurge: 1 } }),
    ]).toEqual([
      { type: "OnDelete" },
      { type: "Recreate" },
      { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: 1 } },
    ]);
  });

  test("requests derived from limits are left to the pods", async () => {
    await using site = new TestSite();
    const limited = { name: "c", image: "i:1", resources: { limits: { cpu: "1" } } };
    const spec = { template: { ...template, spec: { containers: [limited] } } };
    const created = await site.create(at("DaemonSet"), workload("DaemonSet", spec));
    expect(valueAt(created, "spec", "template", "spec", "containers")).toMatchObject([
      { resources: { limits: { cpu: "1" } } },
    ]);
    expect(JSON.stringify(created)).not.toContain("requests");
  });
});

describe("a strategy that would replace nothing, or too much at once, is refused", () => {
  const limits = "spec.updateStrategy.rollingUpdate";
  test.each([
    [
      { type: "Sometimes" },
      "spec.updateStrategy",
      'Unsupported value: {"Type":"Sometimes","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"',
    ],
    [
      { rollingUpdate: { maxUnavailable: 0 } },
      `${limits}.maxUnavailable`,
      "Required value: cannot be 0 when maxSurge is 0",
    ],
    [
      { rollingUpdate: { maxUnavailable: "0%" } },
      `${limits}.maxUnavailable`,
      "Required value: cannot be 0 when maxSurge is 0",
    ],
    [
      { rollingUpdate: { maxSurge: 1 } },
      `${limits}.maxSurge`,
      "Invalid value: 1: may not be set when maxUnavailable is non-zero",
    ],
    [
      { rollingUpdate: { maxUnavailable: -1 } },
      `${limits}.maxUnavailable`,
      "Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      { rollingUpdate: { maxUnavailable: "101%" } },
      `${limits}.maxUnavailable`,
      'Invalid value: "101%": must not be greater than 100%',
    ],
  ])("a DaemonSet's %j", async (updateStrategy, field, message) => {
    await using site = new TestSite();
    const answer = await site.ask("POST", at("DaemonSet"), workload("DaemonSet", { updateStrategy }));
    expect(causesOf(answer)).toEqual([422, [expect.objectContaining({ field, message })]]);
  });

  test("values at the bounds are accepted, and values beyond them are not", async () => {
    await using site = new TestSite();
    const limits = [{ maxUnavailable: 0, maxSurge: 1 }, { maxUnavailable: "100%" }, { maxUnavailable: "101%" }];
    const codes = limits.map(async (rollingUpdate) => {
      const wish = workload("DaemonSet", { updateStrategy: { rollingUpdate } });
      return (await site.ask("POST", `${at("DaemonSet")}?dryRun=All`, wish)).status;
    });
    expect(await Promise.all(codes)).toEqual([201, 201, 422]);
  });

  test.each([
    [
      { type: "Recreate", rollingUpdate: { maxSurge: 1 } },
      "spec.strategy.rollingUpdate",
      "Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ],
    [
      { rollingUpdate: { maxUnavailable: 0, maxSurge: 0 } },
      "spec.strategy.rollingUpdate.maxUnavailable",
      "Invalid value: 0: may not be 0 when `maxSurge` is 0",
    ],
    [
      { type: "Sometimes", rollingUpdate: { maxUnavailable: "2%" } },
      "spec.strategy",
      'Unsupported value: {"Type":"Sometimes","RollingUpdate":{"MaxUnavailable":"2%","MaxSurge":0}}: supported values: "Recreate", "RollingUpdate"',
    ],
  ])("a Deployment's %j", async (strategy, field, message) => {
    await using site = new TestSite();
    const answer = await site.ask("POST", at("Deployment"), workload("Deployment", { strategy }));
    expect(causesOf(answer)).toEqual([422, [expect.objectContaining({ field, message })]]);
  });

  test.each([
    [
      { type: "Sometimes" },
      "spec.updateStrategy",
      `Invalid value: {"Type":"Sometimes","RollingUpdate":null}: must be 'RollingUpdate' or 'OnDelete'`,
    ],
    [
      { rollingUpdate: { partition: -1 } },
      "spec.updateStrategy.rollingUpdate.partition",
      "Invalid value: -1: must be greater than or equal to 0",
    ],
  ])("a StatefulSet's %j", async (updateStrategy, field, message) => {
    await using site = new TestSite();
    const answer = await site.ask("POST", at("StatefulSet"), workload("StatefulSet", { updateStrategy }));
    expect(causesOf(answer)).toEqual([422, [expect.objectContaining({ field, message })]]);
  });
});
