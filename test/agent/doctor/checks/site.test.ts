import { expect, test } from "vitest";
import { leases, nodes } from "../../../../agent/api/resources.ts";
import type { ApiProbe } from "../../../../agent/doctor/api-probe.ts";
import {
  checkSelection,
  nodeSite,
  type SelectedBoard,
  type Surroundings,
} from "../../../../agent/doctor/checks/site.ts";
import type { SiteLease } from "../../../../agent/site/site-lease.ts";
import { Folder, patient } from "../patient.ts";

const own = "kube-system/siteward-plant8";
const older = "kube-system/siteward-plant7";

const site = (name: string, created: string, selector = ""): SiteLease => ({
  key: `kube-system/siteward-${name}`,
  uid: name,
  created,
  site: name,
  selector,
  namespaces: undefined,
});
const mine = site("plant8", "2026-02-01T00:00:00Z");

const board = (name: string, lease?: string, labels: SelectedBoard["labels"] = {}): SelectedBoard => ({
  name,
  lease,
  labels,
});

function verdict(around: Partial<Surroundings>, otherNamespaces?: string) {
  return checkSelection(
    { boards: [], isWhole: true, sites: [mine], unread: [], ...around },
    { site: { name: "plant8" }, leader: { namespace: "kube-system", otherNamespaces }, board: { node: "pi-3" } },
  );
}

test("boards that an older site claims are a failure, by name, regardless of what their agents report", () => {
  const sites = [mine, site("plant7", "2026-01-01T00:00:00Z", "hall=7")];
  const boards = [board("pi-1", own, { hall: "7" }), board("pi-2", undefined, { hall: "7" }), board("pi-4", own)];
  expect(verdict({ sites, boards })).toEqual({
    level: "fail",
    message: "2 boards that this site selects belong to site plant7 (pi-1, pi-2)",
    hint:
      "Correct site.nodeSelector on one of the two sites, or, if plant7 no longer exists: " +
      "kubectl -n kube-system delete lease siteward-plant7",
  });
});

test("before the first start this site has no Lease, and each other site is older", () => {
  const sites = [site("plant9", "2026-03-01T00:00:00Z")];
  expect(verdict({ sites, boards: [board("pi-1")] })).toMatchObject({
    level: "fail",
    message: "1 board that this site selects belongs to site plant9 (pi-1)",
  });
  expect(verdict({ sites: [mine, ...sites], boards: [board("pi-1")] }).level).toBe("ok");
});

test("boards whose agents run in another site fail too, if the Lease of that site can be read", () => {
  const sites = [mine, site("plant9", "2026-03-01T00:00:00Z", "hall=9")];
  const boards = ["pi-1", "pi-2", "pi-5", "pi-6"].map((name) => board(name, "kube-system/siteward-plant9"));
  expect(verdict({ sites, boards })).toMatchObject({
    level: "fail",
    message: "4 boards that this site selects belong to site plant9 (pi-1, pi-2, pi-5, …)",
  });
});

test("this board's own Node may still name the site from before its enrolment", () => {
  expect(verdict({ boards: [board("pi-3", older)] }).level).toBe("ok");
});

test("boards that name a site without a Lease have not been started since it was renamed, which is a warning", () => {
  expect(verdict({ boards: [board("pi-1", older)] })).toMatchObject({
    level: "warn",
    message: expect.stringContaining(
      "last ran an agent of the site with Lease kube-system/siteward-plant7, which does not",
    ),
  });
});

test("boards whose agents belong to a site that this one cannot see are named, with the setting concerned", () => {
  const boards = [board("pi-1", own), board("pi-2", "plant/siteward-b")];
  expect(verdict({ boards })).toMatchObject({
    level: "warn",
    message: expect.stringContaining(
      "1 board that this site selects runs an agent of the site with Lease plant/siteward-b",
    ),
    hint: expect.stringContaining('leader.otherNamespaces: "plant"'),
  });
});

test("all is well only if everything was read", () => {
  const boards = [board("pi-1", own), board("pi-2")];
  expect(verdict({ boards }).message).toBe("none of the 2 boards that this site selects belongs to another site");
  expect(verdict({ boards, isWhole: false }).message).toContain("none of the first 2 boards");
  expect(verdict({ boards, unread: ["plant"] }, "plant")).toEqual({
    level: "skip",
    message: "the Leases of other sites in namespace plant cannot be listed (api.rbac)",
  });
});

test("the check reads the selected Nodes and the Leases of sites, as metadata, and skips what it cannot read", async () => {
  const folder = new Folder();
  const asked: string[] = [];
  const meta = (name: string, more: object) => ({ metadata: { name, uid: name, resourceVersion: "1", ...more } });
  const lists: Readonly<Record<string, readonly object[]>> = {
    [nodes.plural]: [meta("pi-1", { labels: { hall: "7" } }), meta("pi-2", {}), { metadata: 7 }],
    [leases.plural]: [
      meta("siteward-plant7", {
        namespace: "kube-system",
        creationTimestamp: "2026-01-01T00:00:00Z",
        labels: { "siteward.dev/site": "plant7" },
        annotations: { "siteward.dev/node-selector": "hall=7" },
      }),
    ],
  };
  const api = {
    ask: async (_: string, path: string, __: unknown, ___: string, accept: string) => {
      asked.push(`${path} ${accept}`);
      const plural = /\/(nodes|leases)\?/.exec(path)?.[1] ?? "";
      return { status: 200, headers: {}, body: { items: lists[plural] } };
    },
    // The check only asks.
  } as unknown as ApiProbe;
  try {
    const asking = patient(folder, {}, { SITEWARD_SITE_NODE_SELECTOR: "hall" });
    expect(await nodeSite({ ...asking, api })).toMatchObject({
      level: "fail",
      message: expect.stringMatching(/\(pi-1\)$/),
    });
    expect(asked).toEqual([
      expect.stringMatching(/^\/api\/v1\/nodes\?limit=500&labelSelector=hall .*as=PartialObjectMetadataList/),
      expect.stringMatching(/^\/apis\/coordination.k8s.io\/v1\/namespaces\/kube-system\/leases\?.* .*as=PartialObject/),
    ]);
    const refusing = { ask: async () => ({ status: 403, headers: {}, body: undefined }) } as unknown as ApiProbe;
    expect(await nodeSite({ ...asking, api: refusing })).toMatchObject({ level: "skip" });
  } finally {
    folder.remove();
  }
});
