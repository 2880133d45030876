import { expect, test } from "vitest";
import { ApiLink } from "../../../agent/client/api-link.ts";
import { CredentialsError } from "../../../agent/client/credentials-error.ts";
import type { HttpResponse } from "../../../agent/client/transport.ts";
import { TransportError } from "../../../agent/client/transport-error.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const missing = new CredentialsError(
  "kubeconfig /etc/kube does not exist",
  "Put it there.",
  new Error("ENOENT: no such file"),
);
const refused = new TransportError("ConnectionRefused", "https://10.0.0.1:6443: the connection was refused");

function setUp() {
  const clock = new FakeClock();
  const log = new RecordingLog();
  let answer: number | Error = 200;
  let news = 0;
  const link = new ApiLink(
    { clock, log, random: new SeededRandom() },
    {
      transport: async (): Promise<HttpResponse> => {
        if (answer instanceof Error) throw answer;
        return { status: answer, headers: {}, body: (async function* () {})() };
      },
      changed: () => void news++,
      blip: 10_000,
    },
  );
  const send = (next: number | Error, signal = new AbortController().signal): Promise<unknown> => {
    answer = next;
    return link.send({ method: "GET", path: "/api/v1/nodes", headers: {}, signal }).catch(() => undefined);
  };
  const said = () =>
    log.lines.map(({ level, message, fields }) => [level, message, fields.reason].filter(Boolean).join(" "));
  return { clock, link, log, send, said, news: () => news };
}

test("the link is told once when it goes, and once when it comes back", async () => {
  const { clock, link, send, said, news } = setUp();
  expect(link.view().state).toBe("starting");
  await send(200);
  await clock.advance("5s");
  for (let i = 0; i < 5; i++) await send(refused);
  expect(link.view()).toMatchObject({
    state: "down",
    since: clock.now(),
    failure: { kind: "unreachable", message: "https://10.0.0.1:6443: the connection was refused" },
  });
  expect(link.view().failure?.hint).toContain("keeps trying");
  await send(200);
  expect(link.view()).toMatchObject({ state: "up", failure: undefined });
  expect(said()).toEqual([
    "info API server reached",
    "warn API server not reached https://10.0.0.1:6443: the connection was refused",
    "info API server reached",
  ]);
  expect(news()).toBe(3);
});

test("a sentence is told alone: what the system says about the same is left out", async () => {
  const { link, send } = setUp();
  await send(missing);
  expect(link.view().failure).toEqual({
    kind: "credentials",
    message: "kubeconfig /etc/kube does not exist",
    hint: "Put it there.",
  });
});

test("another reason is news, and each is logged once however often they take turns", async () => {
  const { link, send, said, news } = setUp();
  for (const answer of [missing, 401, missing, 401, refused, 401]) await send(answer);
  expect(link.view().failure?.message).toBe("the API server does not accept our credentials");
  expect(said()).toEqual([
    "warn API server not reached kubeconfig /etc/kube does not exist",
    "warn API server not reached the API server does not accept our credentials",
    "warn API server not reached https://10.0.0.1:6443: the connection was refused",
  ]);
  expect(news()).toBe(6);
});

test("a request that was given up by a stop says nothing; one that was not answered in time does", async () => {
  const { link, send } = setUp();
  await send(200);
  await send(new Error("aborted"), AbortSignal.abort(new Error("the agent stops")));
  expect(link.view().state).toBe("up");
  await send(new Error("aborted"), AbortSignal.abort(new TransportError("Timeout", "no answer within 20s")));
  expect(link.view()).toMatchObject({
    state: "down",
    failure: { kind: "unreachable", message: "no answer within 20s" },
  });
});

test("a request that waited in vain for its credentials says so, and not that the link is slow", async () => {
  const { link, send } = setUp();
  await send(missing, AbortSignal.abort(new TransportError("Timeout", "no answer within 2s")));
  expect(link.view().failure).toMatchObject({ kind: "credentials", hint: "Put it there." });
});

test("a refusal is an answer: the link is up", async () => {
  const { link, send } = setUp();
  for (const status of [403, 404, 429, 500]) {
    await send(status);
    expect(link.view().state).toBe("up");
  }
});

test("a person is told how many requests of the last hour had no answer, and how long the others took", async () => {
  const { clock, link, send } = setUp();
  expect(link.view()).toMatchObject({ rtt: undefined, lastHour: { requests: 0, failed: 0, watches: 0 } });
  await send(200);
  await send(500);
  await send(refused);
  // What was never sent, or called off by ourselves, says nothing of the link.
  const gone = new AbortController();
  gone.abort(new Error("not wanted any more"));
  await send(new Error("aborted"), gone.signal);
  expect(link.view().lastHour).toEqual({ requests: 3, failed: 1, watches: 0 });
  await send(200);
  await link.send({ method: "GET", path: "/api/v1/nodes?watch=true", headers: {}, signal: gone.signal });
  expect(link.view()).toMatchObject({ rtt: { p50: 0, p95: 0 }, lastHour: { requests: 5, failed: 1, watches: 1 } });
  await clock.advance("66m");
  expect(link.view().lastHour).toEqual({ requests: 0, failed: 0, watches: 0 });
});

test("an outage is known after its end with its length, from the first request that got no answer; a blip is none", async () => {
  const { clock, link, send, log } = setUp();
  await send(200);
  await send(refused);
  await clock.advance("9s");
  await send(200);
  expect(link.view().lastOutage).toBeUndefined();
  await send(refused);
  const began = clock.now();
  await clock.advance("78s");
  await send(refused);
  await send(200);
  expect(link.view().lastOutage).toEqual({ number: 1, began, ended: clock.now() });
  expect(log.lines.at(-1)).toMatchObject({ level: "info", message: "API server reached", fields: { awayMs: 78_000 } });
});
