import { expect, test } from "vitest";
import { controllerRevisions, endpointSlices, leases, nodes, pods } from "../../../agent/api/resources.ts";
import { noopLogger } from "../../../agent/base/logger.ts";
import { type ApiError, isGone, isNotFound, isTooLargeResourceVersion } from "../../../agent/client/api-error.ts";
import { CredentialsError } from "../../../agent/client/credentials/credentials-error.ts";
import { KubeClient } from "../../../agent/client/kube-client.ts";
import { RequestLimiter } from "../../../agent/client/request-limiter.ts";
import { Traffic } from "../../../agent/client/traffic.ts";
import type { HttpRequest, HttpResponse } from "../../../agent/client/transport/transport.ts";
import { TransportError } from "../../../agent/client/transport/transport-error.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { concat, envelope, field } from "./decoding/protobuf-bytes.ts";

interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** Before the answer begins. */
  readonly fail?: Error;
  readonly never?: boolean;
  readonly chunks?: AsyncIterable<Uint8Array>;
  /** Bytes on the link, where the body was compressed. */
  readonly received?: () => number;
}

async function* bytesOf(body: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** A server that answers in turn, the last answer for ever. */
function site(answers: Answer[], rate = { qps: 1000, burst: 1000 }) {
  const clock = new FakeClock();
  const ambient = { clock, random: new SeededRandom(), log: noopLogger };
  const requests: (HttpRequest & { at: number })[] = [];
  const start = clock.now().mono;
  const transport = async (request: HttpRequest): Promise<HttpResponse> => {
    request.guard?.();
    requests.push({ ...request, at: clock.now().mono - start });
    const answer = answers[Math.min(requests.length, answers.length) - 1] ?? {};
    if (answer.never) return aborted(request.signal);
    if (answer.fail) throw answer.fail;
    const { status = 200, headers = {}, body, chunks = bytesOf(body), received } = answer;
    return { status, headers, body: chunks, ...(received ? { received } : {}) };
  };
  const traffic = new Traffic();
  const limiter = new RequestLimiter(ambient, rate);
  const deps = { transport, traffic, limiter, timeouts, userAgent: "siteward/1" };
  return { clock, requests, traffic, client: new KubeClient(ambient, deps) };
}

const timeouts = { read: 30_000, list: 30_000, watch: 30_000, write: 30_000 };
const node = { metadata: { name: "pi-3", uid: "u1", resourceVersion: "5" } };
const status = (code: number, reason: string, message = reason, details: object = {}) => ({
  status: code,
  body: { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message, details },
});
const podWith = (filling: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a", annotations: { filling } },
});
const signal = new AbortController().signal;
const write = { signal };

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "did not fail",
    (error: unknown) => error,
  );
}

test("only a few requests with large bodies run at a time, and small ones do not wait for them", async () => {
  const { clock, client, requests } = site([{ never: true }]);
  const stop = new AbortController();
  const create = (filling: string, lane: "boards" | "workloads"): Promise<unknown> =>
    failure(client.create(pods, "default", podWith(filling), { signal: stop.signal, lane }));
  const large = "x".repeat(300_000);
  const written = [
    ...Array.from({ length: 16 }, () => create(large, "workloads")),
    ...Array.from({ length: 16 }, () => create(large, "boards")),
    ...Array.from({ length: 16 }, () => create("small", "workloads")),
  ];
  await clock.advance("1s");
  expect(requests.filter(({ body = "" }) => body.length > 1000)).toHaveLength(2);
  expect(requests).toHaveLength(18);
  stop.abort(new Error("stopped"));
  await Promise.all(written);
  expect(requests).toHaveLength(18);
});

test("a large body waits for its turn and is sent when the one before it gets a response", async () => {
  const { client, requests } = site([
    { body: { kind: "PartialObjectMetadata", metadata: { ...node.metadata, namespace: "default" } } },
  ]);
  const object = podWith("x".repeat(300_000));
  const created = Array.from({ length: 5 }, () =>
    client.create(pods, "default", object, { signal, lane: "workloads", metadataOnly: true }),
  );
  expect(await Promise.all(created)).toHaveLength(5);
  expect(requests.map(({ body }) => body)).toEqual(Array(5).fill(JSON.stringify(object)));
});

test("a Lease is renewed by a small patch whose response is metadata only", async () => {
  const { client, requests, traffic } = site([
    { body: { kind: "PartialObjectMetadata", metadata: { ...node.metadata, namespace: "kube-system" } } },
  ]);
  const patch = { spec: { renewTime: "2026-01-01T00:00:00.000000Z" } };
  const lease = await client.patch(leases, { namespace: "kube-system", name: "pi-3" }, "merge", patch, {
    signal,
    metadataOnly: true,
  });
  expect(lease).toMatchObject({ kind: "Lease", metadata: { resourceVersion: "5" } });
  expect(requests[0]).toMatchObject({
    method: "PATCH",
    path: "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/pi-3",
    headers: {
      accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
      "content-type": "application/merge-patch+json",
      "user-agent": "siteward/1",
    },
    body: JSON.stringify(patch),
  });
  expect(traffic.snapshot()).toEqual([
    { resource: "leases.coordination.k8s.io", verb: "patch", requests: 1, up: 115, down: 118 },
  ]);
});

test("a creation whose caller needs only the metadata requests no more, for any kind", async () => {
  const metadata = { name: "web-1", namespace: "default", uid: "u1", resourceVersion: "5" };
  const { client, requests } = site([{ body: { kind: "PartialObjectMetadata", metadata } }]);
  const slice = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: { name: "web-1" } };
  const made = await client.create(endpointSlices, "default", slice, { signal, metadataOnly: true });
  expect(made).toMatchObject({ kind: "EndpointSlice", metadata });
  expect(requests[0]).toMatchObject({
    method: "POST",
    headers: { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json" },
  });
});

test.each([
  [
    "more labels than an object may have",
    { labels: Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`l${at}`, "v"])) },
  ],
  [
    "too many annotations",
    { annotations: Object.fromEntries(Array.from({ length: 130_000 }, (_, at) => [`a${at}`, ""])) },
  ],
])("a creation whose response is %s has succeeded, and its object is identified", async (_, more) => {
  const identity = { name: "web-1", namespace: "default", uid: "u1", resourceVersion: "5" };
  const { client } = site([{ body: { kind: "PartialObjectMetadata", metadata: { ...identity, ...more } } }]);
  const slice = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: { name: "web-1" } };
  const made = await client.create(endpointSlices, "default", slice, { signal, metadataOnly: true });
  expect(made.metadata).toEqual(identity);
});

/** An answer in chunks of 64 KiB about a Pod of 8 MB, and how many of its bytes were read. */
function longPod() {
  const metadata = { name: "web-1", namespace: "default", uid: "u1", resourceVersion: "5" };
  const whole = JSON.stringify({
    kind: "Pod",
    metadata: { ...metadata, annotations: { long: "€".repeat(2_800_000) } },
  });
  const text = Buffer.from(whole);
  const seen = { bytes: 0, ended: 0 };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (let at = 0; at < text.length; at += 65_536) {
        const chunk = text.subarray(at, at + 65_536);
        seen.bytes += chunk.length;
        yield chunk;
      }
    } finally {
      seen.ended++;
    }
  }
  return {
    metadata,
    seen,
    size: text.length,
    answers: (count: number) => Array.from({ length: count }, () => ({ chunks: chunks() })),
  };
}

test("only the beginning of a long response to a write is read, because it identifies the object", async () => {
  const { metadata, seen, answers } = longPod();
  const { client } = site(answers(5));
  const at = { namespace: "default", name: "web-1" };
  const briefly = { signal, metadataOnly: true };
  const made = await client.create(pods, "default", podWith("small"), briefly);
  const patched = await client.patch(pods, at, "merge", {}, briefly);
  expect([made.metadata, patched.metadata]).toEqual([metadata, metadata]);
  await client.delete(pods, at, {}, write);
  await client.evict(at, {}, write);
  await client.bind(at, { board: "pi-3" }, write);
  expect(seen.ended).toBe(5);
  expect(seen.bytes).toBeLessThanOrEqual(5 * 131_072);
});

test("a long web page in response to a deletion does not count as success", async () => {
  const { client } = site([{ body: `<html>${" ".repeat(100_000)}</html>` }]);
  expect(await failure(client.delete(nodes, { name: "pi-3" }, {}, write))).toMatchObject({ reason: "Unreadable" });
});

test("only a few long responses are read at a time, and short ones do not wait for them", async () => {
  const { metadata, seen, size, answers } = longPod();
  const stuck = Promise.withResolvers<void>();
  async function* stuckAfter(first: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const chunk of first) {
      yield chunk;
      bytes += chunk.length;
      if (bytes > 1_000_000) await stuck.promise;
    }
  }
  const short = { body: { kind: "Pod", metadata, spec: { containers: [] } } };
  const { client, clock } = site([...answers(16).map(({ chunks }) => ({ chunks: stuckAfter(chunks) })), short]);
  const at = { namespace: "default", name: "web-1" };
  const got = Promise.all(Array.from({ length: 16 }, () => failure(client.get(pods, at, signal))));
  await clock.settle();
  expect((await client.get(pods, at, signal)).metadata).toEqual(metadata);
  expect(seen.bytes).toBeLessThan(2 * 1_200_000 + 14 * 400_000);
  stuck.resolve();
  await got;
  expect(seen.bytes).toBe(16 * size);
});

test("partial metadata that was not requested is refused", async () => {
  const metadata = { name: "web-1", namespace: "default", uid: "u1", resourceVersion: "5" };
  const { client } = site([{ body: { kind: "PartialObjectMetadata", metadata } }]);
  const slice = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: { name: "web-1" } };
  expect(await failure(client.create(endpointSlices, "default", slice, write))).toMatchObject({
    message: expect.stringContaining("has no addressType"),
  });
});

test.each([
  ["merge", "application/merge-patch+json"],
  ["strategic", "application/strategic-merge-patch+json"],
  ["json", "application/json-patch+json"],
] as const)("a %s patch of a status is sent to the subresource", async (type, contentType) => {
  const { client, requests } = site([{ body: node }]);
  await client.patch(nodes, { name: "pi-3", subresource: "status" }, type, {}, write);
  expect(requests[0]).toMatchObject({ path: "/api/v1/nodes/pi-3/status", headers: { "content-type": contentType } });
});

test("a deletion carries its preconditions", async () => {
  const { client, requests } = site([{ body: { kind: "Status", status: "Success" } }]);
  const at = { namespace: "default", name: "web" };
  await client.delete(pods, at, { uid: "u1", resourceVersion: "5", gracePeriodSeconds: 0 }, write);
  await client.delete(pods, at, {}, write);
  expect(requests.map(({ method, path, body }) => [method, path, JSON.parse(body ?? "")])).toEqual([
    [
      "DELETE",
      "/api/v1/namespaces/default/pods/web",
      {
        apiVersion: "v1",
        kind: "DeleteOptions",
        gracePeriodSeconds: 0,
        preconditions: { uid: "u1", resourceVersion: "5" },
      },
    ],
    ["DELETE", "/api/v1/namespaces/default/pods/web", { apiVersion: "v1", kind: "DeleteOptions" }],
  ]);
});

test("an eviction carries the Pod's uid", async () => {
  const { client, requests } = site([{ status: 201, body: { kind: "Status", status: "Success" } }]);
  await client.evict({ namespace: "default", name: "web" }, { uid: "u1" }, write);
  expect(requests[0]).toMatchObject({ method: "POST", path: "/api/v1/namespaces/default/pods/web/eviction" });
  expect(JSON.parse(requests[0]?.body ?? "")).toEqual({
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: "web", namespace: "default" },
    deleteOptions: { preconditions: { uid: "u1" } },
  });
});

test("a list requests one page and returns each object of it", async () => {
  const items = [{ metadata: { ...node.metadata, namespace: "d" } }, { metadata: {} }];
  const { client, requests } = site([{ body: { metadata: { resourceVersion: "9", continue: "next" }, items } }]);
  const names: string[] = [];
  const options = { labelSelector: "a=b", fieldSelector: "spec.nodeName=pi-3", limit: 500, resourceVersion: "0" };
  const result = await client.list(pods, options, ({ metadata }) => names.push(metadata.name), signal);
  expect(names).toEqual(["pi-3"]);
  expect(result).toEqual({
    resourceVersion: "9",
    continue: "next",
    items: 1,
    rejectedItems: 1,
    rejected: ["Pod: has no metadata.name"],
    unusable: [],
  });
  expect(requests[0]?.headers).toMatchObject({
    accept: "application/vnd.kubernetes.protobuf,application/json",
    "accept-encoding": "gzip",
  });
  const url = new URL(`http://x${requests[0]?.path}`);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    labelSelector: "a=b",
    fieldSelector: "spec.nodeName=pi-3",
    resourceVersion: "0",
    limit: "500",
  });
});

test("a truncated page fails as a whole, and can be retried", async () => {
  const { client } = site([{ body: '{"metadata":{"resourceVersion":"9"},"items":[{"metadata"' }]);
  expect(await failure(client.list(pods, {}, () => {}, signal))).toMatchObject({
    name: "ApiError",
    status: 0,
    disposition: "retry",
    message: "list pods: the response was truncated, or is not a list",
  });
});

test("a list that stalls in the middle fails after its time-out", async () => {
  async function* stalling(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"items":[');
    await new Promise(() => {});
  }
  const seen: AbortSignal[] = [];
  const { client, clock, requests } = site([{ chunks: stalling() }]);
  const listing = failure(client.list(nodes, {}, () => {}, signal));
  await clock.settle();
  seen.push(...requests.map((request) => request.signal));
  await clock.advance("29s");
  expect(seen[0]?.aborted).toBe(false);
  await clock.advance("1s");
  expect(seen[0]?.reason).toMatchObject({ reason: "Timeout" });
  void listing;
});

test("a watch requests bookmarks and no compression, and stays open for as long as the server wants", async () => {
  async function* silence(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${JSON.stringify({ type: "ADDED", object: node })}\n`);
    await aborted(signal);
  }
  const stop = new AbortController();
  const { client, clock, requests } = site([{ chunks: silence(stop.signal) }]);
  const watch = await client.watch(nodes, { resourceVersion: "5", timeoutSeconds: 400 }, stop.signal);
  const seen: string[] = [];
  const reading = failure(
    (async () => {
      for await (const event of watch) seen.push(event.type);
    })(),
  );
  await clock.advance("1h");
  expect(seen).toEqual(["ADDED"]);
  stop.abort(new Error("enough"));
  expect(await reading).toEqual(new Error("enough"));
  expect(requests[0]?.path).toBe(
    "/api/v1/nodes?resourceVersion=5&watch=true&allowWatchBookmarks=true&timeoutSeconds=400",
  );
  expect(requests[0]?.headers["accept-encoding"]).toBeUndefined();
});

test("a watch reports each part of an event that arrives, before the event is whole", async () => {
  const line = `${JSON.stringify({ type: "ADDED", object: node })}\n`;
  const parts: number[] = [];
  const seen: string[] = [];
  async function* slowly(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(line.slice(0, 20));
    seen.push(`${parts.length} parts`);
    yield Buffer.from(line.slice(20));
  }
  const { client } = site([{ chunks: slowly() }]);
  const arrived = (bytes: number): void => void parts.push(bytes);
  for await (const { type } of await client.watch(nodes, { timeoutSeconds: 400, arrived }, signal)) seen.push(type);
  expect(seen).toEqual(["1 parts", "ADDED"]);
  expect(parts).toEqual([20, line.length - 20]);
});

test("an unusable response becomes an error with its reason and disposition", async () => {
  const outcome = async (answer: Answer, call = "get"): Promise<unknown[]> => {
    const { client } = site([answer]);
    const error = await failure(
      call === "get" ? client.get(nodes, { name: "pi-3" }, signal) : client.delete(nodes, { name: "pi-3" }, {}, write),
    );
    if (!(error instanceof Error)) throw new Error("did not fail");
    return "reason" in error && "disposition" in error ? [error.reason, error.disposition] : [error.message];
  };
  expect(await outcome(status(409, "Conflict"))).toEqual(["Conflict", "refresh"]);
  expect(await outcome(status(409, "AlreadyExists"))).toEqual(["AlreadyExists", "refresh"]);
  expect(await outcome(status(410, "Expired"))).toEqual(["Expired", "relist"]);
  expect(await outcome(status(410, ""))).toEqual(["Gone", "relist"]);
  expect(await outcome(status(404, "NotFound"))).toEqual(["NotFound", "refresh"]);
  expect(await outcome(status(404, "NotFound"), "delete")).toEqual(["NotFound", "done"]);
  expect(await outcome(status(422, "Invalid"))).toEqual(["Invalid", "drop"]);
  expect(await outcome(status(403, "Forbidden"))).toEqual(["Forbidden", "drop"]);
  expect(await outcome(status(401, "Unauthorized"))).toEqual(["Unauthorized", "retry"]);
  expect(await outcome(status(500, "InternalError"))).toEqual(["InternalError", "retry"]);
  expect(await outcome({ status: 502, body: "bad gateway" })).toEqual(["InternalError", "retry"]);
  expect(await outcome({ body: "<html>" })).toEqual(["Unreadable", "retry"]);
  expect(await outcome({ body: { metadata: {} } })).toEqual(["Unreadable", "retry"]);
});

test("a web page with status 404 does not make a board disappear", async () => {
  const { client } = site([{ status: 404, body: "<h1>not found</h1>" }]);
  const error = await failure(client.delete(nodes, { name: "pi-3" }, {}, write));
  expect(isNotFound(error)).toBe(false);
  expect(error).toMatchObject({
    reason: "NotKubernetes",
    disposition: "retry",
    hint: expect.stringContaining("address"),
  });
});

test("an error that requires a person has a hint", async () => {
  const denied = 'nodes is forbidden: User "x" cannot list resource "nodes" in API group "" at the cluster scope';
  const { client } = site([status(403, "Forbidden", denied), status(401, "Unauthorized")]);
  expect(await failure(client.list(nodes, {}, () => {}, signal))).toMatchObject({
    message: `list nodes: ${denied}`,
    hint: expect.stringContaining("ClusterRole"),
  });
  expect(await failure(client.get(nodes, { name: "a" }, signal))).toMatchObject({
    hint: expect.stringContaining("token"),
  });
});

test("unusable credentials fail the request with their own message and hint", async () => {
  const fail = new CredentialsError("kubeconfig /etc/site/config does not exist", "Put it there.");
  const { client } = site([{ fail }]);
  expect(await failure(client.list(nodes, {}, () => {}, signal))).toMatchObject({
    name: "ApiError",
    status: 0,
    reason: "Credentials",
    disposition: "retry",
    message: "list nodes: kubeconfig /etc/site/config does not exist",
    hint: "Put it there.",
  });
});

test("a revision that no server accepts is refused without a request, as the server would refuse it", async () => {
  const { client, requests } = site([{}]);
  const revision = {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: { name: "logs-1" },
    data: { text: "<".repeat(1_300_000) },
    revision: 1,
  };
  const error = await failure(client.create(controllerRevisions, "default", revision, { signal, lane: "workloads" }));
  expect(error).toMatchObject({ status: 413, reason: "RequestEntityTooLarge", disposition: "drop" });
  expect(requests).toEqual([]);
});

test("messages name the verb and the target", async () => {
  const { client } = site([status(409, "Conflict", "conflict at resourceVersion 812")]);
  const message = async (promise: Promise<unknown>) => ((await failure(promise)) as Error).message;
  expect(await message(client.patch(nodes, { name: "pi-3", subresource: "status" }, "merge", {}, write))).toBe(
    "patch node pi-3 status: conflict at resourceVersion 812",
  );
  expect(await message(client.delete(pods, { namespace: "default", name: "web" }, {}, write))).toMatch(
    /^delete pod default\/web: /,
  );
  expect(await message(client.list(pods, { namespace: "default" }, () => {}, signal))).toMatch(
    /^list pods in default: /,
  );
  const event = { apiVersion: "v1", kind: "Pod", metadata: { generateName: "web-" } };
  expect(await message(client.create(pods, "default", event, write))).toMatch(/^create pod default\/web-\*: /);
});

test("429 and 5xx are retried after exactly the time that the server names, ten times at most", async () => {
  const busy = { ...status(429, "TooManyRequests"), headers: { "retry-after": "7" } };
  const { client, clock, requests } = site([
    busy,
    { ...status(503, "ServiceUnavailable"), headers: { "retry-after": "2" } },
    { body: node },
  ]);
  const got = client.get(nodes, { name: "pi-3" }, signal);
  await clock.advance("30s");
  expect((await got).metadata.name).toBe("pi-3");
  expect(requests.map(({ at }) => at)).toEqual([0, 7000, 9000]);

  const forever = site([busy]);
  const failed = failure(forever.client.get(nodes, { name: "pi-3" }, signal));
  await forever.clock.advance("10m");
  expect(await failed).toMatchObject({ reason: "TooManyRequests" });
  expect(forever.requests).toHaveLength(11);
});

test("each refusal after which a list or a watch is repeated is reported immediately", async () => {
  const busy = { ...status(429, "TooManyRequests"), headers: { "retry-after": "30" } };
  const { client, clock } = site([busy]);
  const reports: (readonly [number, string])[] = [];
  const refused = ({ reason, verb }: ApiError): void => {
    reports.push([clock.now().mono, `${verb} ${reason}`]);
  };
  const begun = clock.now().mono;
  const stop = new AbortController();
  const listed = failure(client.list(nodes, { refused }, () => {}, stop.signal));
  const watched = failure(client.watch(nodes, { timeoutSeconds: 300, refused }, stop.signal));
  await clock.advance("31s");
  expect(reports.map(([at, what]) => `${at - begun} ${what}`).sort()).toEqual([
    "0 list TooManyRequests",
    "0 watch TooManyRequests",
    "30000 list TooManyRequests",
    "30000 watch TooManyRequests",
  ]);
  stop.abort(new Error("the test is over"));
  await Promise.all([listed, watched]);
});

test("a Retry-After of an hour is shortened to half a minute", async () => {
  const away = { ...status(503, "ServiceUnavailable"), headers: { "retry-after": "3600" } };
  const { client, clock, requests } = site([away, away, { body: node }]);
  const got = client.get(nodes, { name: "pi-3" }, signal);
  await clock.advance("2m");
  expect((await got).metadata.name).toBe("pi-3");
  expect(requests.map(({ at }) => at)).toEqual([0, 30_000, 60_000]);
});

test.each([
  ["without a Retry-After header", status(503, "ServiceUnavailable")],
  ["with a date in that header", { ...status(503, "x"), headers: { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" } }],
  ["for another refusal", { ...status(409, "Conflict"), headers: { "retry-after": "1" } }],
])("a request is not retried %s", async (_, answer) => {
  const { client, requests } = site([answer]);
  await failure(client.get(nodes, { name: "pi-3" }, signal));
  expect(requests).toHaveLength(1);
});

test("a resourceVersion that the server has not reached fails immediately, regardless of its Retry-After", async () => {
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  const { client, requests } = site([
    { ...status(504, "Timeout", "Timeout", { causes }), headers: { "retry-after": "1" } },
  ]);
  expect(
    isTooLargeResourceVersion(await failure(client.list(nodes, { resourceVersion: "99" }, () => {}, signal))),
  ).toBe(true);
  expect(requests).toHaveLength(1);
});

test("a write that is too large for etcd is not retried, although the server reports an internal error", async () => {
  const { client } = site([status(500, "", "etcdserver: request is too large"), status(500, "InternalError")]);
  const create = (): Promise<unknown> => failure(client.create(pods, "default", podWith("small"), write));
  expect(await create()).toMatchObject({ status: 500, reason: "RequestEntityTooLarge", disposition: "drop" });
  expect(await create()).toMatchObject({ status: 500, reason: "InternalError", disposition: "retry" });
});

test("a read whose connection was reset is retried once after a second, but a write is not", async () => {
  const reset = { fail: new TransportError("Reset", "https://x: the connection was reset") };
  const { client, clock, requests } = site([reset, { body: node }]);
  const got = client.get(nodes, { name: "pi-3" }, signal);
  await clock.advance("1s");
  await got;
  expect(requests.map(({ at }) => at)).toEqual([0, 1000]);

  const twice = site([reset]);
  const failed = failure(twice.client.get(nodes, { name: "pi-3" }, signal));
  await twice.clock.advance("1m");
  expect(await failed).toMatchObject({
    status: 0,
    reason: "Reset",
    message: "get node pi-3: https://x: the connection was reset",
  });
  expect(twice.requests).toHaveLength(2);

  const writing = site([reset]);
  expect(await failure(writing.client.delete(nodes, { name: "pi-3" }, {}, write))).toMatchObject({
    reason: "Reset",
    disposition: "retry",
  });
  expect(writing.requests).toHaveLength(1);
});

test("the guard is called for each attempt; if it throws, the call fails and nothing is sent", async () => {
  const { client, clock, requests } = site([
    { ...status(429, "TooManyRequests"), headers: { "retry-after": "5" } },
    { body: node },
  ]);
  let term = true;
  const guard = () => {
    if (!term) throw new Error("the term is over");
  };
  const patching = failure(client.patch(nodes, { name: "pi-3" }, "merge", {}, { signal, guard }));
  await clock.advance("4s");
  term = false;
  await clock.advance("1m");
  expect(await patching).toEqual(new Error("the term is over"));
  expect(requests).toHaveLength(1);
});

test("a request without a response fails after the verb's time-out", async () => {
  const { client, clock } = site([{ never: true }]);
  const failed = failure(client.get(nodes, { name: "pi-3" }, signal));
  await clock.advance("30s");
  expect(await failed).toMatchObject({
    status: 0,
    reason: "Timeout",
    message: "get node pi-3: no response within 30s",
  });
  expect(clock.timers).toBe(0);
});

test("an aborted call throws the signal's reason, even while it waits for a retry", async () => {
  const { client, clock } = site([{ ...status(429, "TooManyRequests"), headers: { "retry-after": "60" } }]);
  const stop = new AbortController();
  const failed = failure(client.get(nodes, { name: "pi-3" }, stop.signal));
  await clock.advance("1s");
  stop.abort(new Error("stopped"));
  expect(await failed).toEqual(new Error("stopped"));
});

test("requests observe the rate limit, but watches are not delayed", async () => {
  const { client, clock, requests } = site([{ body: node }], { qps: 1, burst: 1 });
  for (let i = 0; i < 3; i++) void client.get(nodes, { name: "pi-3" }, signal);
  await client.watch(nodes, { timeoutSeconds: 300 }, signal);
  await clock.advance("5s");
  expect(requests.map(({ path, at }) => [path.includes("watch"), at])).toEqual([
    [true, 0],
    [false, 0],
    [false, 1000],
    [false, 2000],
  ]);
});

test("bytes are counted as they cross the link", async () => {
  const body = JSON.stringify({ metadata: { resourceVersion: "9" }, items: Array(200).fill(node) });
  const { client, traffic } = site([{ body }, { body, received: () => 77 }]);
  await client.list(nodes, {}, () => {}, signal);
  expect(traffic.snapshot()).toEqual([{ resource: "nodes", verb: "list", requests: 1, up: 13, down: body.length }]);
  await client.list(nodes, {}, () => {}, signal);
  expect(traffic.snapshot()).toEqual([
    { resource: "nodes", verb: "list", requests: 2, up: 26, down: body.length + 77 },
  ]);
});

test("a page requested early is not read before its turn, but its continue token is available", async () => {
  const list = JSON.stringify({ metadata: { resourceVersion: "7", continue: "c" }, items: [node] });
  let isRead = false;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    isRead = true;
    yield Buffer.from(list.slice(0, 60));
    expect(said).toEqual(["c"]);
    yield Buffer.from(list.slice(60));
  }
  const said: string[] = [];
  const { client, requests } = site([{ chunks: chunks() }]);
  const turn = Promise.withResolvers<void>();
  const inLine = { turn: turn.promise, onContinue: (token: string) => said.push(token) };
  const listed = client.list(nodes, { limit: 1 }, () => said.push("an object"), signal, inLine);
  await new Promise((resolve) => setImmediate(resolve));
  expect([requests.length, isRead]).toEqual([1, false]);
  turn.resolve();
  expect((await listed).continue).toBe("c");
  expect(said).toEqual(["c", "an object"]);
});

test("a caller that accepts protobuf reads refusals in protobuf", async () => {
  const message = "The provided continue parameter is too old to display a consistent list result.";
  const details = concat(field(3, "pods"), field(4, concat(field(1, "Old"), field(2, "too old"))), field(5, 3));
  const raw = concat(field(2, "Failure"), field(3, message), field(4, "Expired"), field(5, details), field(6, 410));
  const { client } = site([{ status: 410, chunks: bytes(envelope("Status", raw)) }]);
  const error = await failure(client.list(pods, { limit: 1 }, () => {}, signal));
  expect(isGone(error)).toBe(true);
  expect(error).toMatchObject({ status: 410, reason: "Expired", causes: [{ reason: "Old", message: "too old" }] });
  expect(String(error)).toContain(message);
});

test("bytes that are not a Status do not count as a response of Kubernetes, regardless of how they begin", async () => {
  const raw = envelope("PodList", field(1, field(2, "5")));
  for (const body of [raw, raw.subarray(0, 20), Buffer.from("k8s\0"), Buffer.from("k8s\0\xff\xff\xff")]) {
    const { client } = site([{ status: 410, chunks: bytes(body) }]);
    expect(await failure(client.list(pods, { limit: 1 }, () => {}, signal))).toMatchObject({ reason: "NotKubernetes" });
  }
});

async function* bytes(body: Buffer): AsyncGenerator<Uint8Array> {
  yield body;
}

test("patience limits the wait for the rate limit, but not a request that was sent", async () => {
  const { client, clock, requests } = site([{ body: node }, { never: true }], { qps: 0.1, burst: 1 });
  const stop = new AbortController();
  const patient = { signal, patience: stop.signal };
  await client.patch(nodes, { name: "pi-3" }, "merge", {}, patient);
  const waiting = failure(client.patch(nodes, { name: "pi-3" }, "merge", {}, patient));
  await clock.advance("5s");
  stop.abort("no time left");
  expect(await waiting).toBe("no time left");
  expect(requests).toHaveLength(1);
  await clock.advance("5s");
  const sending = new AbortController();
  const sent = failure(client.get(nodes, { name: "pi-3" }, signal, { patience: sending.signal }));
  await clock.settle();
  sending.abort("no time left");
  await clock.advance("31s");
  expect(await sent).toMatchObject({ reason: "Timeout" });
});

test("patience limits the wait that a busy server requests", async () => {
  const busy = { ...status(429, "TooManyRequests"), headers: { "retry-after": "60" } };
  const { client, clock, requests } = site([busy, { body: node }]);
  const stop = new AbortController();
  const waiting = failure(client.patch(nodes, { name: "pi-3" }, "merge", {}, { signal, patience: stop.signal }));
  await clock.advance("5s");
  stop.abort("no time left");
  expect(await waiting).toBe("no time left");
  expect(requests).toHaveLength(1);
});
