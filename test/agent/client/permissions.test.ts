import { expect, test } from "vitest";
import { ApiError } from "../../../agent/client/api-error.ts";
import { missingIn, Permissions } from "../../../agent/client/permissions.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const forbidden = (message: string): ApiError =>
  new ApiError({ verb: "list", target: "nodes" }, { status: 403, reason: "Forbidden", message });

const cannot = (what: string): ApiError => forbidden(`something is forbidden: User "edge" cannot ${what}`);
const listNodes = cannot('list resource "nodes" in API group "" at the cluster scope');
const nodesCall = { verb: "list", path: "/api/v1/nodes?limit=500" };

function setUp() {
  const clock = new FakeClock();
  let changes = 0;
  const permissions = new Permissions({ clock, changed: () => void changes++ });
  const shown = () =>
    permissions
      .missing()
      .map(({ user, verb, resource, group, namespace }) => [user, verb, resource, group, namespace].join(" "));
  return { clock, permissions, shown, changes: () => changes };
}

test("a refused request is reported in RBAC terms until a request of its kind succeeds", () => {
  const { permissions, shown, changes } = setUp();
  permissions.refused(nodesCall, listNodes);
  permissions.refused({ ...nodesCall, path: "/api/v1/nodes?continue=x" }, listNodes);
  expect(shown()).toEqual(["edge list nodes  "]);
  permissions.granted({ verb: "watch", path: "/api/v1/nodes?watch=true" });
  expect(shown()).toHaveLength(1);
  permissions.granted(nodesCall);
  expect(shown()).toEqual([]);
  expect(changes()).toBe(2);
});

test("objects of one kind share one permission; subresources and namespaces have their own", () => {
  const { permissions, shown } = setUp();
  const patch = (path: string, what: string) => permissions.refused({ verb: "patch", path }, cannot(what));
  patch("/api/v1/nodes/pi-1/status", 'patch resource "nodes/status" in API group "" at the cluster scope');
  patch("/api/v1/nodes/pi-2/status", 'patch resource "nodes/status" in API group "" at the cluster scope');
  patch("/api/v1/nodes/pi-2", 'patch resource "nodes" in API group "" at the cluster scope');
  const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default";
  patch(lease, 'patch resource "leases" in API group "coordination.k8s.io" in the namespace "kube-system"');
  expect(shown()).toEqual([
    "edge patch nodes/status  ",
    "edge patch nodes  ",
    "edge patch leases coordination.k8s.io kube-system",
  ]);
  permissions.granted({ verb: "patch", path: "/api/v1/nodes/pi-9/status" });
  permissions.granted({ verb: "patch", path: lease.replace("default", "other") });
  expect(shown()).toEqual(["edge patch nodes  "]);
});

test("an error names the missing permission, even if it is the cause of another error", () => {
  const missing = { user: "edge", verb: "list", resource: "nodes", group: "", namespace: undefined };
  expect(missingIn(listNodes)).toEqual(missing);
  expect(missingIn(new Error("nothing could be read", { cause: listNodes }))).toEqual(missing);
  expect(missingIn(new Error("no answer"))).toBeUndefined();
  expect(missingIn("edge cannot list")).toBeUndefined();
});

test("an exhausted quota or a terminating namespace is not a missing permission", () => {
  const { permissions, shown, changes } = setUp();
  permissions.refused(nodesCall, forbidden("exceeded quota: pods"));
  permissions.refused(
    nodesCall,
    forbidden("unable to create new content in namespace x because it is being terminated"),
  );
  expect(shown()).toEqual([]);
  expect(changes()).toBe(0);
});

test("a refusal not repeated for an hour is dropped, and the number of refusals is bounded", async () => {
  const { clock, permissions, shown } = setUp();
  for (let i = 0; i < 100; i++) {
    const path = `/api/v1/namespaces/team-${i}/events`;
    permissions.refused(
      { verb: "create", path },
      cannot(`create resource "events" in API group "" in the namespace "team-${i}"`),
    );
  }
  expect(shown()).toHaveLength(12);
  await clock.advance("59m");
  permissions.refused(
    { verb: "create", path: "/api/v1/namespaces/team-0/events" },
    cannot('create resource "events" in API group "" in the namespace "team-0"'),
  );
  await clock.advance("2m");
  expect(shown()).toEqual(["edge create events  team-0"]);
});
