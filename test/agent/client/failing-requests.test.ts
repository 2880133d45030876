import { expect, test } from "vitest";
import { leases, nodes, pods } from "../../../agent/api/resources.ts";
import { ApiError, type Verb } from "../../../agent/client/api-error.ts";
import { type CountedCall, FailingRequests } from "../../../agent/client/failing-requests.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const calls = {
  "taint pi-3": { verb: "patch", resource: nodes, path: "/api/v1/nodes/pi-3" },
  "mark pi-3": { verb: "patch", resource: nodes, path: "/api/v1/nodes/pi-3/status" },
  "read pi-3": { verb: "get", resource: nodes, path: "/api/v1/nodes/pi-3" },
  "read pi-4": { verb: "get", resource: nodes, path: "/api/v1/nodes/pi-4" },
  "read a Lease": {
    verb: "get",
    resource: leases,
    path: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a",
  },
  "delete a/web": { verb: "delete", resource: pods, path: "/api/v1/namespaces/a/pods/web" },
  "delete a/db": { verb: "delete", resource: pods, path: "/api/v1/namespaces/a/pods/db" },
  "delete b/web": { verb: "delete", resource: pods, path: "/api/v1/namespaces/b/pods/web" },
  "evict a/web": { verb: "evict", resource: pods, path: "/api/v1/namespaces/a/pods/web/eviction" },
  "read a/web": { verb: "get", resource: pods, path: "/api/v1/namespaces/a/pods/web" },
  "list pods": { verb: "list", resource: pods, path: "/api/v1/pods?limit=100" },
  "watch pods": { verb: "watch", resource: pods, path: "/api/v1/pods?watch=true" },
} as const satisfies Record<string, CountedCall>;

type Call = keyof typeof calls;

const failures = {
  hang: { status: 0, reason: "Timeout", message: "no response within 30s" },
  reset: { status: 0, reason: "Reset", message: "the connection was reset" },
  busy: { status: 429, reason: "TooManyRequests", message: "storage is (re)initializing" },
  down: { status: 503, reason: "ServiceUnavailable", message: "HTTP 503" },
  broken: { status: 500, reason: "InternalError", message: "HTTP 500" },
  late: { status: 504, reason: "Timeout", message: "the server did not complete the request in time" },
  "slow etcd": { status: 500, reason: "InternalError", message: "etcdserver: request timed out" },
  behind: { status: 504, reason: "Timeout", message: "Too large resource version: 8, current: 7" },
  "webhook down": {
    status: 500,
    reason: "InternalError",
    message: 'Internal error occurred: failed calling webhook "a"',
  },
  "webhook refuses": { status: 503, reason: "", message: 'admission webhook "a" denied the request: no' },
  "webhook is busy": { status: 429, reason: "", message: 'admission webhook "a" denied the request: no' },
  "too large": { status: 500, reason: "RequestEntityTooLarge", message: "etcdserver: request is too large" },
  unreadable: { status: 0, reason: "Unreadable", message: "the response has too many fields" },
  "not accepted": { status: 401, reason: "Unauthorized", message: "Unauthorized" },
  conflict: { status: 409, reason: "Conflict", message: "the object has been modified" },
  gone: { status: 404, reason: "NotFound", message: "not found" },
  forbidden: { status: 403, reason: "Forbidden", message: "no" },
} as const;

type Failure = keyof typeof failures;

function leader() {
  const clock = new FakeClock();
  const failing = new FailingRequests(clock);
  const fail = async (...all: readonly (readonly [Call, Failure])[]): Promise<void> => {
    for (const [call, failure] of all) {
      const { verb }: { verb: Verb } = calls[call];
      failing.failed(calls[call], new ApiError({ verb, target: call }, failures[failure]));
      await clock.advance(10_000);
    }
  };
  /** The failing kinds with their number of failures, and of those that only the server can have caused. */
  const shown = (): readonly string[] =>
    failing.list(clock.now()).map(({ kind, count, ofServer }) => `${kind}: ${count}, ${ofServer?.count ?? 0}`);
  return { clock, failing, fail, shown };
}

test.each<[Call, Failure, string]>([
  ["taint pi-3", "down", "patch nodes: 3, 3"],
  ["taint pi-3", "hang", "patch nodes: 3, 3"],
  ["mark pi-3", "broken", "patch nodes/status: 3, 3"],
  ["read a Lease", "busy", "get leases.coordination.k8s.io: 3, 3"],
  ["read pi-3", "slow etcd", "get nodes: 3, 3"],
  ["read pi-3", "hang", "get nodes: 3, 3"],
  ["delete a/web", "broken", "delete pods: 3, 3"],
  ["delete a/web", "reset", "delete pods: 3, 3"],
  ["read a/web", "down", "get pods: 3, 3"],
  ["list pods", "busy", "list pods: 3, 3"],
  ["watch pods", "hang", "watch pods: 3, 3"],
])('three failures of "%s" show that the server is at fault: %s', async (call, failure, expected) => {
  const { fail, shown } = leader();
  await fail([call, failure], [call, failure], [call, failure]);
  expect(shown()).toEqual([expected]);
});

test.each<[Call, Failure]>([
  ["delete a/web", "hang"],
  ["delete a/web", "late"],
  ["read a/web", "hang"],
  ["read a/web", "broken"],
  ["list pods", "hang"],
  ["read pi-3", "broken"],
])('two failures of "%s" are counted, but the server need not be at fault: %s', async (call, failure) => {
  const { fail, shown } = leader();
  await fail([call, failure], [call, failure]);
  expect(shown()).toEqual([expect.stringMatching(/: 2, 0$/)]);
});

test.each<Failure>([
  "webhook down",
  "webhook refuses",
  "webhook is busy",
  "too large",
  "unreadable",
  "not accepted",
  "behind",
])("a failure that a tenant can cause or another rule covers is not counted: %s", async (failure) => {
  const { fail, shown } = leader();
  await fail(["delete a/web", failure], ["delete b/web", failure]);
  expect(shown()).toEqual([]);
  await fail(["delete a/web", "down"], ["delete a/web", failure]);
  expect(shown()).toEqual(["delete pods: 1, 1"]);
});

test.each<Failure>(["conflict", "gone", "forbidden"])(
  "a refusal by a working server ends a failure: %s",
  async (failure) => {
    const { fail, shown } = leader();
    await fail(["delete a/web", "down"], ["delete a/web", failure]);
    expect(shown()).toEqual([]);
  },
);

test("unanswered deletions in two namespaces, or two unreadable Nodes, show that the server is at fault", async () => {
  const { fail, shown } = leader();
  await fail(["delete a/web", "hang"], ["delete a/db", "hang"], ["delete b/web", "hang"], ["delete a/web", "hang"]);
  await fail(["read pi-3", "broken"], ["read pi-4", "broken"]);
  expect(shown()).toEqual(["delete pods: 4, 1", "get nodes: 2, 1"]);
});

test("a success ends only the failures of its own kind", async () => {
  const { failing, fail, shown } = leader();
  await fail(["taint pi-3", "down"], ["mark pi-3", "down"], ["delete a/web", "down"]);
  failing.succeeded(calls["delete b/web"]);
  failing.succeeded(calls["mark pi-3"]);
  failing.succeeded(calls["read pi-3"]);
  expect(shown()).toEqual(["patch nodes: 1, 1"]);
});

test("requests that the judgement does not need are not counted", async () => {
  const { fail, shown } = leader();
  await fail(["evict a/web", "busy"], ["evict a/web", "down"]);
  expect(shown()).toEqual([]);
});

test("failures more than five minutes apart do not belong together", async () => {
  const { clock, failing, fail, shown } = leader();
  await fail(["taint pi-3", "down"]);
  await clock.advance(289_999);
  await fail(["taint pi-3", "down"]);
  expect(shown()).toEqual(["patch nodes: 2, 2"]);
  await clock.advance(290_000);
  expect(shown()).toEqual([]);
  await fail(["taint pi-3", "down"]);
  expect(shown()).toEqual(["patch nodes: 1, 1"]);
  failing.forget(({ kind }) => kind === "patch nodes");
  expect(shown()).toEqual([]);
});
