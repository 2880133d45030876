import { describe, expect, test } from "vitest";
import { nodes } from "../../../agent/api/resources.ts";
import type { EventAction, ObjectRef } from "../../../agent/execution/actions.ts";
import { EventRecorder } from "../../../agent/execution/event-recorder.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { refusal, SmallApi, TestTerm } from "../../support/small-api.ts";

function setUp() {
  const clock = new FakeClock();
  const api = new SmallApi(clock);
  const ambient = { clock, random: new SeededRandom(), log: new RecordingLog() };
  const recorder = new EventRecorder(ambient, { client: api, host: "pi-1" });
  const abort = new AbortController();
  const running = recorder.run(abort.signal);
  const term = new TestTerm();
  const say = (about: ObjectRef, message = "NodeNotReady", reason = "NodeNotReady"): void => {
    const event: EventAction = { do: "event", about, severity: "Normal", reason, message };
    recorder.record(event, term);
  };
  return { clock, api, recorder, abort, running, term, say };
}

const board = (name: string): ObjectRef => ({ resource: nodes, namespace: undefined, name, uid: `uid-${name}` });

describe("an Event", () => {
  test("about a Node is in the namespace default and names the object exactly", async () => {
    const { clock, api, say } = setUp();
    say(board("pi-3"));
    await clock.settle();
    expect(api.requests).toMatchObject([
      {
        verb: "create",
        body: {
          kind: "Event",
          metadata: { namespace: "default", name: expect.stringMatching(/^pi-3\.[0-9a-f]{16}$/) },
          involvedObject: { apiVersion: "v1", kind: "Node", name: "pi-3", uid: "uid-pi-3" },
          source: { component: "siteward", host: "pi-1" },
          type: "Normal",
          reason: "NodeNotReady",
          count: 1,
          firstTimestamp: "2026-01-01T00:00:00Z",
        },
      },
    ]);
  });

  test("about a pod is in the pod's namespace, and has a new name each time", async () => {
    const { clock, api, say } = setUp();
    const ref = { ...api.put("web-1"), namespace: "shop" };
    say(ref, "one");
    say(ref, "two");
    await clock.settle();
    expect(api.requests).toMatchObject([
      { body: { metadata: { namespace: "shop" }, involvedObject: { namespace: "shop" } } },
      { body: { metadata: { namespace: "shop" } } },
    ]);
    expect(new Set(api.requests.map(({ name }) => name)).size).toBe(2);
  });

  test("shows the reason of a command without characters that reorder the text around them", async () => {
    const { clock, api, say } = setUp();
    say(board("pi-3"), "Node pi-3 cordoned by ops:jo: new \u202efan\u2066 \u001b[2J");
    await clock.settle();
    expect(api.requests).toMatchObject([{ body: { message: "Node pi-3 cordoned by ops:jo: new ?fan? ?[2J" } }]);
  });

  test("that is repeated increments the count of the existing one", async () => {
    const { clock, api, say } = setUp();
    say(board("pi-3"));
    await clock.advance("10s");
    say(board("pi-3"));
    await clock.advance("10s");
    expect(api.requests.map(({ verb }) => verb)).toEqual(["create", "patch"]);
    expect(api.requests[1]?.body).toMatchObject({ count: 2, lastTimestamp: "2026-01-01T00:00:10Z" });
    expect(api.requests[1]?.name).toBe(api.requests[0]?.name);
  });

  test("that is repeated before it was sent is sent once", async () => {
    const { clock, api, recorder, say } = setUp();
    api.latency = 1000;
    say(board("pi-1"));
    await clock.advance(1);
    for (let time = 0; time < 50; time++) say(board("pi-2"));
    await clock.advance("5s");
    expect(api.requests).toHaveLength(2);
    expect(api.requests[1]?.body).toMatchObject({ count: 50 });
    expect(recorder.stats()).toEqual({ queued: 0, sent: 2, dropped: 0 });
  });

  test("that was deleted is created again, and its count starts again", async () => {
    const { clock, api, say } = setUp();
    say(board("pi-3"));
    await clock.settle();
    api.objects.clear();
    say(board("pi-3"));
    await clock.settle();
    expect(api.requests.map(({ verb }) => verb)).toEqual(["create", "patch", "create"]);
    expect(api.requests[2]?.body).toMatchObject({ count: 1 });
  });

  test("with an overlong name or message is truncated", async () => {
    const { clock, api, say } = setUp();
    say(board("b".repeat(253)), "m".repeat(5000));
    await clock.settle();
    expect(api.requests[0]?.name.length).toBe(253);
    expect(api.requests[0]?.body).toMatchObject({ message: "m".repeat(1024) });
  });
});

describe("many Events", () => {
  test("about one object are sent in a burst of 25, then one per 300 s; those about other objects are not affected", async () => {
    const { clock, api, recorder, say } = setUp();
    for (let time = 0; time < 100; time++) {
      say(board("pi-3"));
      await clock.settle();
    }
    expect(api.requests).toHaveLength(25);
    expect(recorder.stats().dropped).toBe(75);
    say(board("pi-4"));
    await clock.advance("299s");
    say(board("pi-3"));
    await clock.settle();
    expect(api.requests).toHaveLength(26);
    await clock.advance("1s");
    say(board("pi-3"));
    await clock.settle();
    expect(api.requests).toHaveLength(27);
  });

  test("that differ only in their message become one from the tenth on", async () => {
    const { clock, api, say } = setUp();
    for (let attempt = 1; attempt <= 15; attempt++) {
      say(board("pi-3"), `attempt ${attempt} failed`);
      await clock.settle();
    }
    expect(api.requests.map(({ verb }) => verb)).toEqual([
      ...new Array(10).fill("create"),
      ...new Array(5).fill("patch"),
    ]);
    expect(api.requests.at(-1)?.body).toMatchObject({
      count: 6,
      message: "(combined from similar events): attempt 15 failed",
    });
  });

  test("wait in a bounded queue", async () => {
    const { clock, api, recorder, say } = setUp();
    api.latency = 3_600_000;
    for (let index = 0; index < 1000; index++) say(board(`pi-${index}`));
    await clock.settle();
    expect(recorder.stats()).toMatchObject({ queued: 199, dropped: 800 });
  });
});

describe("an Event that cannot be written", () => {
  test("after a lost connection is retried a few times, then dropped, and the next one is sent", async () => {
    const { clock, api, recorder, say } = setUp();
    api.refuse = ({ name }) => {
      if (name.startsWith("pi-3")) throw refusal("create", 0, "Reset");
    };
    say(board("pi-3"));
    say(board("pi-4"));
    await clock.advance("2m");
    expect(api.requests.map(({ name }) => name.split(".")[0])).toEqual(["pi-3", "pi-3", "pi-3", "pi-3", "pi-4"]);
    expect(recorder.stats()).toEqual({ queued: 0, sent: 1, dropped: 1 });
  });

  test.each(["Forbidden", "Invalid", "AlreadyExists", "NotFound"])(
    "after a refusal (%s) is not retried",
    async (reason) => {
      const { clock, api, recorder, say } = setUp();
      api.refuse = () => {
        throw refusal("create", 400, reason);
      };
      say(board("pi-3"));
      await clock.advance("5m");
      expect(api.requests).toHaveLength(1);
      expect(recorder.stats().dropped).toBe(1);
    },
  );

  test("is not sent for a term that has ended", async () => {
    const { clock, api, recorder, term, say } = setUp();
    say(board("pi-3"));
    term.over = true;
    await clock.settle();
    expect(api.requests).toEqual([]);
    expect(recorder.stats().dropped).toBe(1);
  });
});

test("the delivery of an Event ends with its signal, even in the middle of a pause", async () => {
  const { clock, api, abort, running, say } = setUp();
  api.refuse = () => {
    throw refusal("create", 0, "Reset");
  };
  say(board("pi-3"));
  await clock.advance("1s");
  abort.abort();
  await running;
  expect(clock.timers).toBe(0);
});
