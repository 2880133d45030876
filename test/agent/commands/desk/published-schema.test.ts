import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { read } from "../../../../agent/base/schema.ts";
import { commands } from "../../../../agent/commands/desk/definitions/registry.ts";
import { envelopeSchema } from "../../../../agent/commands/desk/envelope.ts";
import { publishedSchema } from "../../../../agent/commands/desk/published-schema.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const ajv = new Ajv2020({ strict: true, allErrors: false });

/** What is tried for each member: good, just good, just bad, and from another world. */
const odd: readonly unknown[] = [
  undefined, null, true, false, 0, 1, -1, 9, 10, 59, 60, 61, 3600, 3601, 21_600, 21_601, 86_400, 86_401, 1.5, 1e308, 2 ** 53,
  "", "a", "site", "zone", "board", "debug", "info", "full", "summary", "graceful", "default", "60", "plant7-a", "a/b", "-a",
  "A b", "ü", "😀".repeat(200), "😀".repeat(201), "x".repeat(253), "x".repeat(254), "https://h/p", "http://h/p",
  "2026-11-20T12:00:00Z", "2026-11-20T12:00:00.123456789Z", "2026-13-20T12:00:00Z", "2026-11-20T25:00:00Z", "2026-11-20",
  [], ["status"], ["Status"], [1], {}, { url: "https://h/p" }, { url: "https://h/p", more: 1 }, { term: 1 }, { term: "1" },
  JSON.parse('{"__proto__":1}'), { constructor: 1 }, { bootId: "b" },
]; // biome-ignore format: a table

const names = ["v", "id", "name", "args", "iat", "exp", "by", "reason", "if", "ctr", "dryRun", "ttl", "scope", "target", "board",
  "zone", "controller", "to", "holdOff", "timeout", "gracePeriod", "force", "echo", "detail", "source", "level", "sections",
  "logsSince", "upload", "vacuum", "version", "canary", "toVersion", "mode", "id", "__proto__", "constructor", "toString"]; // biome-ignore format: a table

/** JSON as it would come over the wire: what is undefined is not there, and `__proto__` is a member like any other. */
function objectOf(random: SeededRandom, known: readonly string[], base: Readonly<Record<string, unknown>>): unknown {
  const entries = new Map(Object.entries(base));
  for (let n = random.integer(4); n > 0; n--) {
    const from = random.integer(4) > 0 && known.length > 0 ? known : names;
    entries.set(from[random.integer(from.length)] ?? "v", odd[random.integer(odd.length)]);
  }
  const text = [...entries]
    .flatMap(([name, value]) => (value === undefined ? [] : [`${JSON.stringify(name)}:${JSON.stringify(value)}`]))
    .join(",");
  return JSON.parse(`{${text}}`);
}

const good: Readonly<Record<string, unknown>> = {
  ttl: 600,
  timeout: 60,
  level: "info",
  zone: "a",
  controller: "pod-gc",
  board: "edge-1",
  version: 3,
  id: "X",
};

const membersOf = (schema: unknown): readonly string[] =>
  typeof schema === "object" && schema !== null && "properties" in schema ? Object.keys(Object(schema.properties)) : [];

test.each([...commands.values()].map((definition) => [definition.name, definition] as const))(
  "%s: our check of the arguments agrees with an independent reader of the published schema",
  (_, { args }) => {
    const judge = ajv.compile({ ...args.json });
    const random = new SeededRandom(7);
    const known = membersOf(args.json);
    const base = Object.fromEntries(known.filter((name) => name in good).map((name) => [name, good[name]]));
    let agreed = 0;
    for (let n = 0; n < 2000; n++) {
      const value = objectOf(random, known, n % 2 === 0 ? base : {});
      const isGood = "value" in read(args, value);
      expect(isGood, JSON.stringify(value)).toBe(judge(value));
      if (isGood) agreed++;
    }
    // Both sides were seen.
    expect(agreed).toBeGreaterThan(0);
    expect(agreed).toBeLessThan(2000);
  },
);

test("our check of the envelope and an independent validator agree", () => {
  const judge = ajv.compile({ ...envelopeSchema.json });
  const random = new SeededRandom(11);
  const known = membersOf(envelopeSchema.json);
  let good = 0;
  for (let n = 0; n < 20_000; n++) {
    const value = objectOf(random, known, { v: 1, id: "ID", name: "ping" });
    const isGood = "value" in read(envelopeSchema, value);
    expect(isGood, JSON.stringify(value)).toBe(judge(value));
    if (isGood) good++;
  }
  expect(good).toBeGreaterThan(1000);
});

test("the schema of all commands accepts each command, and names an invalid command and its fault", () => {
  const judge = ajv.compile({ ...publishedSchema(undefined) });
  const command = (name: string, args: unknown, reason?: string) => ({
    v: 1,
    id: "A",
    name,
    args,
    ...(reason && { reason }),
  });
  expect(judge(command("ping", {}))).toBe(true);
  expect(judge(command("eviction.freeze", { ttl: 600 }, "radio"))).toBe(true);
  expect(judge(command("eviction.freeze", { ttl: 600 }))).toBe(false);
  expect(judge(command("eviction.freeze", {}, "radio"))).toBe(false);
  expect(judge(command("eviction.melt", {}))).toBe(false);
});

test("the schema of one command is a valid schema, and an unknown command has none", () => {
  for (const name of commands.keys()) expect(() => ajv.compile({ ...publishedSchema(name) })).not.toThrow();
  expect(publishedSchema("eviction.melt")).toBeUndefined();
  expect(publishedSchema("__proto__")).toBeUndefined();
});

test("all commands of the fleet's interface are defined, with their scopes and classes", () => {
  const table = [...commands.values()].map(
    ({ name, scopes, class: kind, isSigned }) => `${name} ${scopes.join("+")} ${kind}${isSigned ? " signed" : ""}`,
  );
  expect(table.sort()).toEqual([
    "agent.restart board once signed",
    "board.confirm-dead site once signed",
    "board.cordon board+site idempotent signed",
    "board.drain board once signed",
    "board.uncordon board+site idempotent signed",
    "capabilities.get board+fleet read",
    "cmd.cancel board+site idempotent signed",
    "config.apply board idempotent signed",
    "config.get board read",
    "config.rollback board once signed",
    "controllers.pause site idempotent signed",
    "controllers.resume site idempotent signed",
    "credentials.reload board idempotent signed",
    "decisions.get board+site read",
    "diagnostics.collect board once signed",
    "eviction.freeze site idempotent signed",
    "eviction.thaw site idempotent signed",
    "journal.compact board idempotent signed",
    "leader.step-down site once signed",
    "log.level board+fleet idempotent signed",
    "ping board+fleet read",
    "status.get board+site+fleet read",
    "valve.rearm site idempotent signed",
    "valve.release site once signed",
    "zone.confirm-dead site once signed",
    "zone.unconfirm-dead site idempotent signed",
  ]);
});
