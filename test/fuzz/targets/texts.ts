import { quantity } from "../../../agent/api/quantity.ts";
import { matchesFields, matchesLabels, parseFieldSelector, parseLabelSelector } from "../../../agent/api/selectors.ts";
import { scrubber } from "../../../agent/base/text/scrubber.ts";
import { parseDuration } from "../../../agent/base/time/duration.ts";
import { readTime } from "../../../agent/base/time/iso-time.ts";
import { gatewayOn, lanPaths } from "../../../agent/board/lan-paths.ts";
import { localNetworks } from "../../../agent/board/local-networks.ts";
import { parseBytes } from "../../../agent/config/bytes.ts";
import { parseCron, parseWindows } from "../../../agent/config/cron.ts";
import { decodeBudget } from "../../../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import { memberText } from "../../../agent/fleet/configuration/member-text.ts";
import { allowedResponseTopic, parseCommandTopic } from "../../../agent/fleet/mqtt/topics.ts";
import { decodeHolds, encodeHolds, prune } from "../../../agent/holds/holds.ts";
import { actsWithin, decodeValve, encodeValve } from "../../../agent/holds/valve.ts";
import { olderClaims } from "../../../agent/site/site-lease.ts";
import { zoneFrom } from "../../../agent/upkeep/time-zone.ts";
import { ruleFrom, ruleOffset } from "../../../agent/upkeep/zone-rule.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { ensure, jsonIn, type Target, taken } from "../target.ts";

const now = { mono: 1000, wall: Date.UTC(2026, 10, 20) };
const labels = { app: "web", tier: "a" };
const object = { metadata: { name: "web" }, spec: { nodeName: "pi-1" } };
const me = { fleet: "acme", site: "plant7", board: "pi-1" };

const one = (from: readonly string[], random: SeededRandom): string => from[random.integer(from.length)] ?? "";

const plain = (name: string, examples: readonly string[], read: (text: string) => unknown): Target => ({
  name,
  form: "text",
  open: () => ({
    example: (random) => one(examples, random),
    run: (input) => read(input.toString()) !== undefined,
  }),
});

const sure = (value: number | undefined): number | undefined => {
  ensure(value === undefined || !Number.isNaN(value), "a number is one");
  return value;
};

export const texts: readonly Target[] = [
  plain(
    "label-selector",
    ["a=b,c!=d", "e in (x,y),f notin (z),g,!h,i>5", "example.org/a==b"],
    (text) => taken(["SelectorError"], () => matchesLabels(parseLabelSelector(text), labels)) || undefined,
  ),
  plain(
    "field-selector",
    ["spec.nodeName=pi-3,status.phase!=Running", "a=x\\,y\\=z\\\\,b!=c"],
    (text) => taken(["SelectorError"], () => matchesFields(parseFieldSelector(text), object)) || undefined,
  ),
  plain("quantity", ["250m", "1.5Gi", "1e3", "+.5E", "100", "4000000n"], quantity),
  plain("duration", ["90s", "1h30m", "250ms", "1.5d"], (text) => sure(parseDuration(text))),
  plain("size", ["8MiB", "512KiB", "1.5GiB"], (text) => sure(parseBytes(text))),
  plain("time", ["2026-11-20T12:00:00Z", "2026-11-20T12:00:00.123456+02:00"], (text) => sure(readTime(text))),
  plain("schedule", ["17 3 * * *", "*/5 0-6 1,15 JAN-MAR 1-5", "@daily"], parseCron),
  plain("quiet-hours", ["0 22 * * 1-5 for 8h; 0 0 * * 6 for 2d", "@daily for 1h"], parseWindows),
  plain(
    "zone-rule",
    ["CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0", "<+03>-3", "XXX3YYY,J60/1,300/-2:30"],
    (text) => {
      const rule = ruleFrom(text);
      if (rule) for (let month = 0; month < 12; month++) sure(ruleOffset(rule, Date.UTC(2026, month, 15)));
      return rule;
    },
  ),
  {
    name: "zone-file",
    form: "bytes",
    open: () => ({
      example: zoneFile,
      run: (input) => {
        const zone = zoneFrom(input);
        if (zone) for (let year = 1960; year < 2100; year += 20) zone.offsetAt(Date.UTC(year, 6, 1));
        return zone !== undefined;
      },
    }),
  },
  plain("topic", ["sw1/acme/plant7/pi-1/cmd/eviction.freeze/ID-1", "sw1/acme/_all/cmd/ping/ID-2"], (text) => {
    allowedResponseTopic(me, text);
    return parseCommandTopic(me, text);
  }),
  plain("member-text", ['{"v":1,"config":{"a":"}\\"{"},"b":[1,2]}'], (text) =>
    // Its text was parsed before.
    jsonIn(Buffer.from(text)) === undefined ? undefined : memberText(text, "config"),
  ),
  plain("networks", ["eth0\t0007A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\nlo\t0\n"], (text) =>
    localNetworks((file) =>
      file === "/proc/net/route" ? text : "fd000000000000000000000000000007 02 40 00 80 eth0\n",
    ),
  ),
  plain(
    "paths",
    [
      "eth0\t0007A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\nlo\t0\n",
      `fd00${"0".repeat(28)} 40 ${"0".repeat(32)} 00 ${"0".repeat(32)} 00000400 00000001 00000000 00000001 eth0\n`,
    ],
    (text) => {
      const pathTo = lanPaths(() => text);
      return [pathTo("192.168.7.3"), pathTo("fd00::3"), gatewayOn(() => text, "eth0")];
    },
  ),
  plain(
    "scrub",
    ['password: "hunter2hunter2" Bearer abc.def.ghi https://u:p@h/ -----BEGIN PRIVATE KEY-----\nAA\n'],
    scrubber(["s3cret-value"]),
  ),
  {
    name: "holds",
    form: "json",
    open: () => ({
      example: (random) =>
        JSON.stringify({
          v: 1,
          freezes: {
            site: { left: random.integer(9999), until: "2026-11-20T13:00:00Z", by: "ops:a", reason: "r", slow: 60 },
            "zone/a": { left: 10, by: "b", slow: 0 },
            "board/pi-1": { left: 0, by: "c", slow: 600 },
          },
          pauses: { podGC: { left: 60, by: "d" } },
          confirmed: { "zone-b": { left: 900, by: "e", lastSigns: "aaaaaabbbbbb" } },
          later: { unknown: true },
        }),
      run: (input) => {
        const holds = decodeHolds(input.toString(), now);
        if (!holds) return false;
        const again = decodeHolds(encodeHolds(prune(holds, now), now), now);
        ensure(
          encodeHolds(holds, now).length > 0 && (again !== undefined || input.length > 30_000),
          "a parsed value can be passed on",
        );
        return true;
      },
    }),
  },
  {
    name: "valve",
    form: "json",
    open: () => ({
      example: (random) =>
        JSON.stringify({
          v: 1,
          total: random.integer(9999),
          acts: [
            [59, 3],
            [random.integer(90), 1],
          ],
          admitted: 2,
          unknown: 7,
          later: { unknown: true },
        }),
      run: (input) => {
        const valve = decodeValve(input.toString(), now);
        if (!valve) return false;
        const again = decodeValve(encodeValve(valve, now), now);
        ensure(
          again !== undefined && actsWithin(again, now) >= actsWithin(valve, now),
          "no act is lost when a parsed value is passed on",
        );
        return true;
      },
    }),
  },
  {
    name: "allowances",
    form: "json",
    open: () => ({
      example: (random) =>
        JSON.stringify({
          v: 1,
          zones: { a: { level: random.next(), left: 5, state: "normal" } },
          boards: { "pi-1": { left: 40 } },
        }),
      run: (input) => decodeBudget(input.toString(), now) !== undefined,
    }),
  },
  plain("claim", ["site=a", "a in (b,c),!d", ""], (selector) => {
    const found = [
      { key: "x/y", uid: "u", created: "2026-01-01T00:00:00Z", site: "s", selector, namespaces: selector },
    ];
    const claims = olderClaims(found, "x/z", () => {});
    for (const claim of claims) matchesLabels(claim.selector, labels);
    return claims.length > 0 ? claims : undefined;
  }),
];

/** TZif of version 2, with two transitions and a rule for later times (RFC 9636). */
function zoneFile(random: SeededRandom): Buffer {
  const header = (times: number, types: number, letters: number): Buffer => {
    const bytes = Buffer.alloc(44);
    bytes.write("TZif2");
    for (const [index, count] of [0, 0, 0, times, types, letters].entries()) bytes.writeUInt32BE(count, 20 + 4 * index);
    return bytes;
  };
  const type = (offset: number): Buffer => {
    const bytes = Buffer.alloc(6);
    bytes.writeInt32BE(offset);
    return bytes;
  };
  const times = Buffer.alloc(16);
  times.writeBigInt64BE(BigInt(random.integer(1_000_000_000)));
  times.writeBigInt64BE(1_500_000_000n, 8);
  const body = [times, Buffer.of(1, 0), type(3600), type(7200), Buffer.from("CET\0CEST\0")];
  return Buffer.concat([header(0, 0, 0), header(2, 2, 9), ...body, Buffer.from("\nCET-1CEST,M3.5.0,M10.5.0/3\n")]);
}
