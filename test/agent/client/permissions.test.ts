import { expect, test } from "vitest";
import { ApiError } from "../../../agent/client/api-error.ts";
import { Permissions } from "../../../agent/client/permissions.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const forbidden = (message: string): ApiError =>
  new ApiError({ verb: "list", target: "nodes" }, { status: 403, reason: "Forbidden", message });

const cannot = (what: string): ApiError => forbidden(`something is forbidden: User "edge" cannot ${what}`);
const listNodes = cannot('list resource "nodes" in API group "" at the cluster scope');
const nodesCall = { verb: "list", path: "/api/v1/nodes?limit=500" };

function setUp() {
  const clock = new FakeClock();
  let news = 0;
  const permissions = new Permissions({ clock, changed: () => void news++ });
  const told = () =>
    permissions
      .missing()
      .map(({ user, verb, resource, group, namespace }) => [user, verb, resource, group, namespace].join(" "));
  return { clock, permissions, told, news: () => news };
}

test("what is refused is told in the words in which it is granted, until a request of its kind goes through", () => {
  const { permissions, told, news } = setUp();
  permissions.refused(nodesCall, listNodes);
  permissions.refused({ ...nodesCall, path: "/api/v1/nodes?continue=x" }, listNodes);
  expect(told()).toEqual(["edge list nodes  "]);
  permissions.granted({ verb: "watch", path: "/api/v1/nodes?watch=true" });
  expect(told()).toHaveLength(1);
  permissions.granted(nodesCall);
  expect(told()).toEqual([]);
  expect(news()).toBe(2);
});

test("objects of one kind are one permission, subresources and namespaces are others", () => {
  const { permissions, told } = setUp();
  const patch = (path: string, what: string) => permissions.refused({ verb: "patch", path }, cannot(what));
  patch("/api/v1/nodes/pi-1/status", 'patch resource "nodes/status" in API group "" at the cluster scope');
  patch("/api/v1/nodes/pi-2/status", 'patch resource "nodes/status" in API group "" at the cluster scope');
  patch("/api/v1/nodes/pi-2", 'patch resource "nodes" in API group "" at the cluster scope');
  const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default";
  patch(lease, 'patch resource "leases" in API group "coordination.k8s.io" in the namespace "kube-system"');
  expect(told()).toEqual([
    "edge patch nodes/status  ",
    "edge patch nodes  ",
    "edge patch leases coordination.k8s.io kube-system",
  ]);
  permissions.granted({ verb: "patch", path: "/api/v1/nodes/pi-9/status" });
  permissions.granted({ verb: "patch", path: lease.replace("default", "other") });
  expect(told()).toEqual(["edge patch nodes  "]);
});

test("a full quota or a namespace that is going away is no missing permission", () => {
  const { permissions, told, news } = setUp();
  permissions.refused(nodesCall, forbidden("exceeded quota: pods"));
  permissions.refused(
    nodesCall,
    forbidden("unable to create new content in namespace x because it is being terminated"),
  );
  expect(told()).toEqual([]);
  expect(news()).toBe(0);
});

test("what was refused an hour ago and never wanted again is not told any more, and not without bound before", async () => {
  const { clock, permissions, told } = setUp();
  for (let i = 0; i < 100; i++) {
    const path = `/api/v1/namespaces/team-${i}/events`;
    permissions.refused(
      { verb: "create", path },
      cannot(`create resource "events" in API group "" in the namespace "team-${i}"`),
    );
  }
  expect(told()).toHaveLength(12);
  await clock.advance("59m");
  permissions.refused(
    { verb: "create", path: "/api/v1/namespaces/team-0/events" },
    cannot('create resource "events" in API group "" in the namespace "team-0"'),
  );
  await clock.advance("2m");
  expect(told()).toEqual(["edge create events  team-0"]);
});
