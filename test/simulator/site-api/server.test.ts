import { once } from "node:events";
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../../agent/base/clock.ts";
import { SiteApi } from "../../../simulator/site-api/site-api.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { configMap, configMaps } from "./site.ts";

let api: SiteApi;
let port: number;
let log: RecordingLog;

beforeEach(async () => {
  log = new RecordingLog();
  api = new SiteApi({ clock: new SystemClock(), random: new SeededRandom(), log }, { file: ":memory:" });
  ({ port } = await api.listen(0));
});

afterEach(() => api.close());

async function open(
  method: string,
  path: string,
  body?: string | Buffer,
  headers: Record<string, string> = {},
): Promise<IncomingMessage> {
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const options: RequestOptions = { host: "127.0.0.1", port, method, path, headers: { ...headers, ...length } };
  const outgoing = request(options);
  outgoing.end(body);
  const [response] = await once(outgoing, "response");
  return response;
}

async function ask(
  ...asked: Parameters<typeof open>
): Promise<{ status: number; headers: IncomingMessage["headers"]; body: Buffer }> {
  const response = await open(...asked);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
}

const json = ({ body }: { body: Buffer }) => JSON.parse(body.toString());

describe("over HTTP", () => {
  test("objects are written and read", async () => {
    const created = await ask("POST", configMaps, JSON.stringify(configMap("ü", {}, {})).replace("ü", "a"), {
      "content-type": "application/json; charset=utf-8",
    });
    expect(created.status).toBe(201);
    const changed = await ask("PATCH", `${configMaps}/a`, '{"data":{"text":"Grüße"}}', {
      "content-type": "application/merge-patch+json",
    });
    expect(json(changed)).toMatchObject({ data: { text: "Grüße" } });
    expect((await ask("HEAD", "/healthz")).status).toBe(200);
  });

  test("large lists are compressed if the client accepts that, small ones never", async () => {
    for (let i = 0; i < 200; i++)
      await ask("POST", configMaps, JSON.stringify(configMap(`c${i}`, {}, { text: "x".repeat(1000) })));
    const plain = await ask("GET", configMaps);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    const packed = await ask("GET", configMaps, undefined, { "accept-encoding": "gzip, deflate" });
    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(packed.body.length).toBeLessThan(plain.body.length / 4);
    expect(gunzipSync(packed.body)).toEqual(plain.body);
    const small = await ask("GET", `${configMaps}?limit=5`, undefined, { "accept-encoding": "gzip" });
    expect(small.headers["content-encoding"]).toBeUndefined();
    expect(json(small).items).toHaveLength(5);
  });

  test("a body that is too large gets a response, and the connection stays open", async () => {
    const large = await ask("POST", configMaps, JSON.stringify(configMap("a", {}, { text: "x".repeat(3_200_000) })));
    expect(large.status).toBe(413);
    expect(json(large)).toMatchObject({ kind: "Status", reason: "RequestEntityTooLarge" });
    expect((await ask("POST", configMaps, JSON.stringify(configMap("a")))).status).toBe(201);
  });

  test("a watch arrives as changes happen, and ends with its reader", async () => {
    const response = await open("GET", `${configMaps}?watch=true`, undefined, {
      "accept-encoding": "gzip",
    });
    expect(response.headers["content-encoding"]).toBeUndefined();
    await ask("POST", configMaps, JSON.stringify(configMap("a")));
    const [chunk] = await once(response, "data");
    expect(JSON.parse(chunk.toString())).toMatchObject({ type: "ADDED", object: { metadata: { name: "a" } } });
    response.destroy();
    expect((await ask("GET", "/healthz")).status).toBe(200);
  });

  test("closing ends the watches, frees the port, and the file can be served again", async () => {
    const response = await open("GET", `${configMaps}?watch=true`);
    response.on("error", () => {});
    const ended = new Promise((resolve) => response.on("close", resolve));
    await api.close();
    await ended;
    const signal = new AbortController().signal;
    expect(await api.handle({ method: "GET", path: configMaps, headers: {}, signal })).toMatchObject({ status: 503 });
    await expect(ask("GET", "/healthz")).rejects.toThrow("ECONNREFUSED");
  });

  test("malformed requests do not affect other connections", async () => {
    await Promise.all([
      ask("POST", configMaps, "\0\0\0"),
      ask("POST", configMaps, Buffer.from([0xff, 0xfe, 0x00])),
      ask("GET", "/%"),
      ask("GET", "//////"),
      ask("PATCH", `${configMaps}/a`, "[", { "content-type": "application/json-patch+json" }),
    ]);
    expect((await ask("GET", configMaps)).status).toBe(200);
    expect(log.said("error")).toEqual([]);
  });
});

describe("protobuf, as Go clients write the built-in kinds", () => {
  const type = { "content-type": "application/vnd.kubernetes.protobuf" };
  const field = (number: number, value: Buffer | string): Buffer => {
    const bytes = Buffer.from(value);
    return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
  };
  const number = (at: number, value: number): Buffer => Buffer.from([at * 8, value]);
  const envelope = (apiVersion: string, kind: string, ...parts: Buffer[]): Buffer =>
    Buffer.concat([
      Buffer.from("k8s\0"),
      field(1, Buffer.concat([field(1, apiVersion), field(2, kind)])),
      field(2, Buffer.concat(parts)),
    ]);
  const entry = (key: string, value: string): Buffer => Buffer.concat([field(1, key), field(2, value)]);
  const named = (name: string, ...more: Buffer[]): Buffer =>
    field(1, Buffer.concat([field(1, name), field(2, ""), field(8, ""), ...more]));

  test("is read like JSON", async () => {
    const body = envelope(
      "v1",
      "ConfigMap",
      named("a", field(11, entry("app", "x"))),
      field(2, entry("text", "Grüße")),
      field(3, entry("raw", "\x01")),
    );
    const answer = await ask("POST", configMaps, body, {
      ...type,
      accept: "application/vnd.kubernetes.protobuf,application/json",
    });
    expect(answer.status).toBe(201);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(json(answer)).toMatchObject({
      metadata: { name: "a", labels: { app: "x" } },
      data: { text: "Grüße" },
      binaryData: { raw: "AQ==" },
    });
  });

  test("distinguishes an explicit zero from an absent one", async () => {
    const time = field(3, number(1, 5));
    const spec = field(2, Buffer.concat([field(1, "pi-1"), number(2, 40), time, number(5, 0)]));
    const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const answer = await ask("POST", path, envelope("coordination.k8s.io/v1", "Lease", named("l"), spec), type);
    expect(json(answer).spec).toEqual({
      holderIdentity: "pi-1",
      leaseDurationSeconds: 40,
      acquireTime: "1970-01-01T00:00:05.000000Z",
      leaseTransitions: 0,
    });
    expect(json(answer).metadata.generateName).toBeUndefined();
  });

  test("deletes with options", async () => {
    await ask("POST", configMaps, JSON.stringify(configMap("a")));
    const body = envelope("v1", "DeleteOptions", field(2, field(1, "another")));
    expect((await ask("DELETE", `${configMaps}/a`, body, type)).status).toBe(409);
  });

  test.each([
    ["bytes that are not protobuf", Buffer.from("hello")],
    ["an unknown kind", envelope("v1", "Toaster", named("a"))],
    ["an unknown field", envelope("v1", "ConfigMap", named("a"), field(15, "x"))],
    ["a length beyond the end", envelope("v1", "ConfigMap", Buffer.from([10, 100, 1]))],
    ["an endless number", envelope("v1", "ConfigMap", Buffer.alloc(20, 0xff))],
  ])("%s is refused", async (_, body) => {
    const answer = await ask("POST", configMaps, body, type);
    expect(answer.status).toBe(400);
    expect(json(answer)).toMatchObject({ reason: "BadRequest" });
  });
});
