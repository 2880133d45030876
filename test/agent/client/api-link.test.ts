import { expect, test } from "vitest";
import { ApiLink } from "../../../agent/client/api-link.ts";
import { CredentialsError } from "../../../agent/client/credentials/credentials-error.ts";
import type { HttpResponse } from "../../../agent/client/transport/transport.ts";
import { NoFurtherConnection, TransportError } from "../../../agent/client/transport/transport-error.ts";
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
  let changes = 0;
  let leads = true;
  const link = new ApiLink(
    { clock, log, random: new SeededRandom() },
    {
      transport: async (): Promise<HttpResponse> => {
        if (answer instanceof Error) throw answer;
        return { status: answer, headers: {}, body: (async function* () {})() };
      },
      changed: () => void changes++,
      blip: 10_000,
      isLeading: () => leads,
    },
  );
  const send = (next: number | Error, signal = new AbortController().signal): Promise<unknown> => {
    answer = next;
    return link.send({ method: "GET", path: "/api/v1/nodes", headers: {}, signal }).catch(() => undefined);
  };
  const said = () =>
    log.lines.map(({ level, message, fields }) => [level, message, fields.reason].filter(Boolean).join(" "));
  const lead = (now: boolean): void => {
    leads = now;
  };
  return { clock, link, log, send, said, lead, changes: () => changes };
}

test("the link is logged once when it is lost, and once when it is back", async () => {
  const { clock, link, send, said, changes } = setUp();
  expect(link.view().state).toBe("starting");
  await send(200);
  await clock.advance("5s");
  for (let i = 0; i < 5; i++) await send(refused);
  expect(link.view()).toMatchObject({
    state: "down",
    since: clock.now(),
    answeredAt: { mono: clock.now().mono - 5000 },
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
  expect(changes()).toBe(3);
});

test("the operating system's wording is left out of the message", async () => {
  const { link, send } = setUp();
  await send(missing);
  expect(link.view().failure).toEqual({
    kind: "credentials",
    message: "kubeconfig /etc/kube does not exist",
    hint: "Put it there.",
  });
});

test("each new reason is logged once, regardless of how often they alternate", async () => {
  const { link, send, said, changes } = setUp();
  for (const answer of [missing, 401, missing, 401, refused, 401]) await send(answer);
  expect(link.view().failure?.message).toBe("the API server does not accept our credentials");
  expect(said()).toEqual([
    "warn API server not reached kubeconfig /etc/kube does not exist",
    "warn API server not reached the API server does not accept our credentials",
    "warn API server not reached https://10.0.0.1:6443: the connection was refused",
  ]);
  expect(changes()).toBe(6);
});

test("an aborted request is not reported; a request without a response in time is", async () => {
  const { link, send } = setUp();
  await send(200);
  await send(new Error("aborted"), AbortSignal.abort(new Error("the agent stops")));
  expect(link.view().state).toBe("up");
  await send(new Error("aborted"), AbortSignal.abort(new TransportError("Timeout", "no response within 20s")));
  expect(link.view()).toMatchObject({
    state: "down",
    failure: { kind: "unreachable", message: "no response within 20s" },
  });
});

test("a request that waits in vain for credentials reports that, not a slow link", async () => {
  const { link, send } = setUp();
  await send(missing, AbortSignal.abort(new TransportError("Timeout", "no response within 2s")));
  expect(link.view().failure).toMatchObject({ kind: "credentials", hint: "Put it there." });
});

test("an additional connection that fails alongside a working one does not count as a lost link", async () => {
  const { link, send, said, changes } = setUp();
  await send(200);
  for (let i = 0; i < 5; i++) {
    await send(new NoFurtherConnection(refused));
    await send(200);
  }
  expect(link.view()).toMatchObject({ state: "up", failure: undefined, lastHour: { failed: 0 } });
  expect([said(), changes()]).toEqual([["info API server reached"], 1]);
});

test("an HTTP refusal is a response, so the link is up", async () => {
  const { link, send } = setUp();
  for (const status of [403, 404, 429, 500]) {
    await send(status);
    expect(link.view().state).toBe("up");
  }
});

test("the view counts the last hour's failed requests and measures the others", async () => {
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

test("an outage is reported after its end, from its first unanswered request; a blip is not", async () => {
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
  expect(link.view().lastOutage).toEqual({
    number: 1,
    startedAt: began,
    endedAt: clock.now(),
    kind: "unreachable",
    isLed: true,
  });
  expect(log.lines.at(-1)).toMatchObject({ level: "info", message: "API server reached", fields: { awayMs: 78_000 } });
});

test("an outage is known to be led if this board led when its first request without a response was sent", async () => {
  const { clock, link, send, lead } = setUp();
  const outage = async (leads: { readonly before: boolean; readonly after: boolean }) => {
    await send(200);
    await clock.advance("60s");
    lead(leads.before);
    await send(refused);
    lead(leads.after);
    await clock.advance("20s");
    await send(200);
    return link.view().lastOutage?.isLed;
  };
  expect(await outage({ before: true, after: false })).toBe(true);
  expect(await outage({ before: false, after: true })).toBe(false);
  // The term ended before the watches showed that the same outage had begun earlier.
  lead(true);
  await clock.advance("60s");
  const began = clock.now();
  await clock.advance("15s");
  link.onSilence(began, clock.now());
  lead(false);
  await send(refused);
  await clock.advance("20s");
  await send(200);
  expect(link.view().lastOutage).toMatchObject({ kind: "unreachable", isLed: true });
});

test("an outage keeps the reason why it began: refused credentials are not a missing response", async () => {
  const { clock, link, send } = setUp();
  await send(200);
  await send(401);
  await clock.advance("78s");
  await send(refused);
  await send(200);
  expect(link.view().lastOutage?.kind).toBe("credentials");
});

test("an interruption of the watches of boards is an outage even if no request failed, and is counted once", async () => {
  const { clock, link, send, log } = setUp();
  await send(200);
  const began = clock.now();
  await clock.advance("15s");
  const ended = clock.now();
  link.onSilence(began, ended);
  expect(link.view()).toMatchObject({
    state: "up",
    lastOutage: { number: 1, startedAt: began, endedAt: ended, kind: "silence" },
  });
  expect(log.lines.at(-1)).toMatchObject({ level: "warn", fields: { awayMs: 15_000 } });

  // Requests show the next one first, and the watches resume some seconds later.
  await clock.advance("60s");
  await send(refused);
  const second = clock.now();
  await clock.advance("20s");
  link.onSilence(second, clock.now());
  expect(link.view().lastOutage?.number).toBe(1);
  await send(200);
  await clock.advance("5s");
  link.onSilence(second, clock.now());
  expect(link.view().lastOutage).toMatchObject({ number: 2, kind: "unreachable" });

  // A request fails late for the same reason for which the watches were silent.
  await clock.advance("60s");
  await send(refused);
  const third = clock.now();
  await send(200);
  await clock.advance("12s");
  link.onSilence(third, clock.now());
  expect(link.view().lastOutage).toMatchObject({ number: 3, kind: "silence" });
});
