import { expect, test } from "vitest";
import { itemsAt, type JsonObject, textAt } from "../../../../agent/api/json.ts";
import { type Answer, merge, TestSite } from "../site.ts";

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const endpoints = "/api/v1/namespaces/default/endpoints";

const slice = (addressType: string, addresses: readonly string[], more: JsonObject = {}): JsonObject => ({
  kind: "EndpointSlice",
  apiVersion: "discovery.k8s.io/v1",
  metadata: { name: "s" },
  addressType,
  endpoints: [{ addresses }],
  ...more,
});

const subset = (more: JsonObject): JsonObject => ({
  kind: "Endpoints",
  apiVersion: "v1",
  metadata: { name: "e" },
  subsets: [more],
});

/** Field and message of each cause, after the code. */
const refusalOf = ({ status, body }: Answer): unknown[] => [
  status,
  ...itemsAt(body, "details", "causes").map((cause) => `${textAt(cause, "field")}: ${textAt(cause, "message")}`),
];

const at = "endpoints[0].addresses";
const noAddress = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

test.each([
  [
    "an unknown type",
    slice("IPX", ["10.0.0.1"]),
    'addressType: Unsupported value: "IPX": supported values: "FQDN", "IPv4", "IPv6"',
  ],
  ["no type", slice("", ["10.0.0.1"]), "addressType: Required value"],
  ["no addresses", slice("IPv4", []), `${at}: Required value: must contain at least 1 address`],
  ["a word as an address", slice("IPv4", ["x"]), `${at}[0]: Invalid value: "x": ${noAddress}`],
  [
    "an address that could be octal",
    slice("IPv4", ["010.0.0.1"]),
    `${at}[0]: Invalid value: "010.0.0.1": must not have leading 0s`,
  ],
  ["an IPv6 address as IPv4", slice("IPv4", ["fd00::1"]), `${at}: Invalid value: "fd00::1": must be an IPv4 address`],
  ["one of IPv4 as IPv6", slice("IPv6", ["10.0.0.1"]), `${at}: Invalid value: "10.0.0.1": must be an IPv6 address`],
  [
    "another spelling",
    slice("IPv6", ["fd00:0::1"]),
    `${at}[0]: Invalid value: "fd00:0::1": must be in canonical form ("fd00::1")`,
  ],
  [
    "loopback",
    slice("IPv4", ["127.0.0.1"]),
    `${at}[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
  ],
  [
    "a name of one part",
    slice("FQDN", ["a"]),
    `${at}[0]: Invalid value: "a": should be a domain with at least two segments separated by dots`,
  ],
  [
    "an unknown protocol",
    slice("IPv4", ["10.0.0.1"], { ports: [{ port: 1, protocol: "X" }] }),
    'ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
  ],
  [
    "two ports of one name",
    slice("IPv4", ["10.0.0.1"], { ports: [{ port: 1 }, { port: 2 }] }),
    'ports[1].name: Duplicate value: ""',
  ],
])("an EndpointSlice with %s is refused", async (_, object, sentence) => {
  await using site = new TestSite();
  expect(refusalOf(await site.ask("POST", slices, object))).toEqual([422, sentence]);
});

test("an EndpointSlice with addresses of its type is accepted, and its type is immutable", async () => {
  await using site = new TestSite();
  const fitting: [string, string][] = [
    ["IPv4", "10.0.0.1"],
    ["IPv6", "fd00::1"],
    ["FQDN", "a.b"],
  ];
  for (const [type, address] of fitting) {
    expect((await site.ask("POST", `${slices}?dryRun=All`, slice(type, [address]))).status).toBe(201);
  }
  await site.create(slices, slice("IPv4", ["10.0.0.1"]));
  const moved = await site.ask("PATCH", `${slices}/s`, { addressType: "IPv6" }, { type: merge });
  expect(refusalOf(moved)).toEqual([422, 'addressType: Invalid value: "IPv6": field is immutable']);
});

test.each([
  [
    "an invalid address",
    { addresses: [{ ip: "300.1.1.1" }] },
    `subsets[0].addresses[0].ip: Invalid value: "300.1.1.1": ${noAddress}`,
  ],
  [
    "an invalid address that is not ready",
    { notReadyAddresses: [{ ip: "x" }] },
    `subsets[0].notReadyAddresses[0].ip: Invalid value: "x": ${noAddress}`,
  ],
  [
    "the unspecified address",
    { addresses: [{ ip: "0.0.0.0" }] },
    'subsets[0].addresses[0].ip: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
  ],
  [
    "an IPv4 address written as IPv6",
    { addresses: [{ ip: "::ffff:1.2.3.4" }] },
    'subsets[0].addresses[0].ip: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address',
  ],
  [
    "ports only",
    { ports: [{ port: 1 }] },
    "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
  ],
  [
    "an unknown protocol",
    { addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 1, protocol: "X" }] },
    'subsets[0].ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
  ],
])("Endpoints with %s are refused", async (_, given, sentence) => {
  await using site = new TestSite();
  expect(refusalOf(await site.ask("POST", endpoints, subset(given)))).toEqual([422, sentence]);
});
