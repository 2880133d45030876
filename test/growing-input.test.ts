import { describe, expect, test } from "vitest";
import type { KubeObject } from "../agent/api/meta.ts";
import { quantity } from "../agent/api/quantity.ts";
import { daemonSets, nodes, pods, type Resource, services } from "../agent/api/resources.ts";
import { parseFieldSelector, parseLabelSelector } from "../agent/api/selectors.ts";
import { parseDuration } from "../agent/base/time/duration.ts";
import { ListDecoder } from "../agent/client/decoding/list-decoder.ts";
import { type WatchEvent, watchEvents } from "../agent/client/watch-stream.ts";
import { parseBytes } from "../agent/config/bytes.ts";
import { parseCron, parseWindows } from "../agent/config/cron.ts";
import { decodeBudget } from "../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import { decodeHolds } from "../agent/holds/holds.ts";
import { kindOf } from "../agent/informer/kinds/kinds.ts";
import { ruleFrom, ruleOffset } from "../agent/upkeep/zone-rule.ts";

/** No text that comes from outside holds the event loop, as long as an API server lets it become (256 KiB of annotations). */
const longest = 262_144;
const now = { mono: 0, wall: 0 };

const texts: Readonly<Record<string, string>> = {
  commas: ",".repeat(longest),
  spaces: " ".repeat(longest),
  digits: "9".repeat(longest),
  "a number of many digits": `1.${"0".repeat(longest)}1`,
  "open parentheses": "(".repeat(longest),
  "lists of values": "a in (b,c),".repeat(longest / 11),
  "labels without end": "a,".repeat(longest / 2),
  "escapes and commas": "\\,".repeat(longest / 2),
  "times without end": "1h".repeat(longest / 2),
  "a schedule of many fields": "0 ".repeat(longest / 2),
  "windows without end": `${"* * * * * for 1h;".repeat(longest / 17)}`,
  "names of a day": "MON,".repeat(longest / 4),
  "nested lists": "[".repeat(longest),
  "nested members": '{"v":'.repeat(longest / 5),
  "an object of many members": `{"v":1,${Array.from({ length: 20_000 }, (_, at) => `"k${at}":1`).join()}}`,
  "a number beyond all numbers": `{"v":1,"freezes":{"site":{"left":1${"0".repeat(100_000)}}}}`,
};

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  "a label selector": orRefused(parseLabelSelector),
  "a field selector": orRefused(parseFieldSelector),
  "a quantity": quantity,
  "a duration": parseDuration,
  "a size": parseBytes,
  "a schedule": parseCron,
  "quiet hours": parseWindows,
  "the rule of a time zone": ruleFrom,
  "the holds of a Lease": (text) => decodeHolds(text, now),
  "the allowances of a Lease": (text) => decodeBudget(text, now),
};

test.each(Object.keys(readers))("%s is quickly read or refused, regardless of its length", (name) => {
  const read = readers[name];
  for (const [kind, text] of Object.entries(texts)) {
    expect(
      bestOf(3, () => read?.(text)),
      kind,
    ).toBeLessThan(50);
  }
});

test.each(["M13.1.0", "M0.1.0", "M3.0.0", "M3.6.0", "M3.1.7", "M3.1.0/x"])(
  "a time-zone rule whose summer begins on %s, a day that no year has, is refused",
  (day) => {
    const rule = ruleFrom(`CET-1CEST,${day},M10.5.0`);
    expect(rule).toBeUndefined();
  },
);

test.each([
  "0-99999999999 * * * *",
  "* * * * 1-55555555555555555555",
  "1-59/0000000000000000000001 * * * *",
  "0 0 * JAN-MARMARMARMARMARMARMARMARMARMARMAR *",
  "0 0 * 1JAN1JAN1JAN1JAN1JAN-12 *",
  "@daily 1-99999999999 * * *",
])("the schedule %s, which a library would expand forever, is refused", (written) => {
  expect(parseCron(written)).toBeUndefined();
  expect(parseWindows(`${written} for 8h`)).toBeUndefined();
});

test("a time-zone rule whose summer begins on the last Sunday of March is accepted", () => {
  const rule = ruleFrom("CET-1CEST,M3.5.0,M10.5.0/3");
  expect(rule && ruleOffset(rule, Date.UTC(2026, 6, 1))).toBe(7_200_000);
});

function bestOf(runs: number, run: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let at = 0; at < runs && best > 10; at++) {
    const begun = performance.now();
    run();
    best = Math.min(best, performance.now() - begun);
  }
  return best;
}

function orRefused(read: (text: string) => unknown): (text: string) => unknown {
  return (text) => {
    try {
      return read(text);
    } catch (error) {
      if (error instanceof Error && error.name === "SelectorError") return undefined;
      throw error;
    }
  };
}

describe("an object as large as a server lets it become", () => {
  const many = <T>(count: number, one: (at: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, at) => one(at));
  const map = (count: number, value = "v") => Object.fromEntries(many(count, (at) => [`k${at}`, value]));
  const named = { name: "web", namespace: "shop", uid: "u", resourceVersion: "8" };
  const event = (kind: string, apiVersion: string, metadata: object, more: object = {}): string =>
    JSON.stringify({ type: "MODIFIED", object: { kind, apiVersion, metadata: { ...named, ...metadata }, ...more } });

  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const terms = (count: number): object => ({ nodeSelectorTerms: many(count, () => ({})) });

  const taken: Readonly<Record<string, readonly [Resource<KubeObject>, string]>> = {
    "5 000 annotations": [nodes, event("Node", "v1", { annotations: map(5000, "x".repeat(40)) })],
    "a text of 1 MB": [nodes, event("Node", "v1", { annotations: { a: "x".repeat(1_000_000) } })],
    "JSON within a text": [nodes, event("Node", "v1", { annotations: { a: JSON.stringify(map(60_000)) } })],
    "1 016 labels": [pods, event("Pod", "v1", { labels: map(1016) }, { spec: {} })],
    "60 000 annotations and fields of managers, which no reader needs,": [
      pods,
      event("Pod", "v1", { annotations: map(60_000), managedFields: [{ fieldsV1: map(60_000) }] }, { spec: {} }),
    ],
    "60 000 fields of managers": [
      services,
      event("Service", "v1", { managedFields: [{ fieldsV1: map(60_000) }] }, { spec: {} }),
    ],
    "20 000 variables of a container": [
      pods,
      event(
        "Pod",
        "v1",
        {},
        { spec: { containers: [{ name: "a", env: many(20_000, (at) => ({ name: `v${at}`, value: "" })) }] } },
      ),
    ],
    "a list of 5 000 tolerations": [
      pods,
      event("Pod", "v1", {}, { spec: { tolerations: many(5000, (at) => ({ key: `k${at}`, operator: "Exists" })) } }),
    ],
    "50 000 finalizers": [pods, event("Pod", "v1", { finalizers: many(50_000, (at) => `a.b/${at}`) }, { spec: {} })],
  };
  const refused: Readonly<Record<string, readonly [Resource<KubeObject>, string, string]>> = {
    "100 000 labels": [pods, event("Pod", "v1", { labels: map(100_000) }), "more than 589824 characters"],
    "700 000 empty terms": [
      pods,
      event("Pod", "v1", {}, { spec: { affinity: { nodeAffinity: { [required]: terms(700_000) } } } }),
      "more than 589824 characters",
    ],
    "1 001 labels": [services, event("Service", "v1", { labels: map(1001) }, { spec: {} }), "more than 1000 labels"],
    "1 017 labels, 16 of them a controller's": [
      pods,
      event("Pod", "v1", { labels: map(1017) }, { spec: {} }),
      "more than 1016 labels",
    ],
    "a selector of 1 001 labels": [
      services,
      event("Service", "v1", {}, { spec: { selector: map(1001) } }),
      "1000 labels",
    ],
    "a selector of 1 001 expressions": [
      daemonSets,
      event(
        "DaemonSet",
        "apps/v1",
        {},
        {
          spec: {
            selector: { matchExpressions: many(1001, (at) => ({ key: `k${at}`, operator: "Exists" })) },
            template: { spec: {} },
          },
        },
      ),
      "1000 labels",
    ],
    "100 000 levels": [
      pods,
      event("Pod", "v1", {}, { spec: 7 }).replace("7}", `${"[".repeat(100_000)}${"]".repeat(100_000)}}`),
      "nested more than 100 levels deep",
    ],
  };

  test.each(Object.keys(taken))("with %s is read, trimmed and indexed soon after it could be parsed", async (name) => {
    const [resource, line] = taken[name] as (typeof taken)[string];
    let last: WatchEvent<KubeObject> | undefined;
    const milliseconds = await bestLater(5, async () => {
      last = await only(resource, line);
      if (last?.type !== "MODIFIED") return;
      const { trim, indices } = kindOf(resource);
      const kept = trim(last.object);
      for (const index of Object.values(indices)) index(kept);
    });
    expect(last?.type).toBe("MODIFIED");
    expect(milliseconds).toBeLessThan(50 + (await parsing(line)));
  });

  test.each(Object.keys(refused))(
    "with %s is refused soon after it could be parsed, and its resourceVersion is kept",
    async (name) => {
      const [resource, line, why] = refused[name] as (typeof refused)[string];
      let last: WatchEvent<KubeObject> | undefined;
      const milliseconds = await bestLater(5, async () => {
        last = await only(resource, line);
      });
      expect(last).toMatchObject({ type: "REJECTED", why: expect.stringContaining(why), resourceVersion: "8" });
      expect(milliseconds).toBeLessThan(50 + (await parsing(line)));
    },
  );

  test("is refused in a list too", () => {
    const [, line] = refused["100 000 labels"] as (typeof refused)[string];
    const item = JSON.stringify(JSON.parse(line).object);
    const decoder = new ListDecoder<KubeObject>(pods, { each: () => {} });
    decoder.push(Buffer.from(`{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[${item}]}`));
    expect(decoder.end()?.resourceVersion).toBe("9");
    expect(decoder.rejected).toEqual(["Pod shop/web of more than 589824 characters"]);
  });
});

async function only(resource: Resource<KubeObject>, line: string): Promise<WatchEvent<KubeObject> | undefined> {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${line}\n`);
  }
  for await (const event of watchEvents(body(), { resource }, { verb: "watch", target: "x" })) return event;
  return undefined;
}

/** How long JSON.parse takes, in milliseconds: the measure of what a machine can be asked to do with a text of this size. */
const parsing = async (line: string): Promise<number> =>
  await bestLater(5, async () => {
    JSON.parse(line);
  });

/** Processor time of this thread: what else the machine does is not the object's fault. */
async function bestLater(runs: number, run: () => Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let at = 0; at < runs; at++) {
    const before = process.threadCpuUsage();
    await run();
    const { user, system } = process.threadCpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}
