import { describe, expect, test } from "vitest";
import { announcedBy, announcementText, parseAnnouncement } from "../../../agent/witness/announcement.ts";
import { isSigned } from "../../../agent/witness/board-key.ts";
import { node } from "../../support/builders.ts";

const key = Buffer.alloc(32, 1).toString("base64url");
const announced = { key, port: 10270, addresses: ["192.168.7.3", "fd00::3"] };

test("an announcement is read as it was written", () => {
  expect(parseAnnouncement(announcementText(announced))).toEqual(announced);
});

test("a board whose port cannot be opened announces no address, and is not asked at the one that its kubelet reports", () => {
  const text = announcementText({ ...announced, isClosed: true });
  expect(parseAnnouncement(text)).toEqual({ ...announced, addresses: [], isClosed: true });
  const status = { addresses: [{ type: "InternalIP", address: "192.168.7.3" }] };
  const { metadata } = node("pi-3");
  const annotations = { "siteward.dev/witness": text };
  const found = announcedBy({ ...node("pi-3"), metadata: { ...metadata, annotations }, status });
  expect(found?.addresses).toEqual([]);
});

describe("an announcement is unusable", () => {
  const text = (changes: object): string => JSON.stringify({ ...announced, ...changes });
  test.each([
    ["that is not JSON", "{"],
    ["that is not an object", "[]"],
    ["that is too long", text({ x: "x".repeat(1024) })],
    ["without a key", text({ key: undefined })],
    ["with half a key", text({ key: key.slice(0, 20) })],
    ["with a key in another form", text({ key: `${key}=` })],
    ["with port 0", text({ port: 0 })],
    ["with a port that is too high", text({ port: 65_536 })],
    ["with a port as text", text({ port: "10270" })],
  ])("%s", (_, written) => {
    expect(parseAnnouncement(written)).toBe(undefined);
  });

  test("with a key that is not a point of the curve, because no signature matches it", () => {
    const odd = Buffer.alloc(32, 0xff).toString("base64url");
    expect(parseAnnouncement(text({ key: odd }))?.key).toBe(odd);
    expect(isSigned(Buffer.from("word"), Buffer.alloc(64), odd)).toBe(false);
  });
});

test.each([
  ["0.0.0.0"],
  ["224.0.0.1"],
  ["255.255.255.255"],
  ["::"],
  ["ff02::1"],
  ["::ffff:224.0.0.1"],
  ["pi-3.local"],
  [""],
  [7],
])("no question is sent to %j", (address) => {
  const text = JSON.stringify({ ...announced, addresses: [address, "192.168.7.3"] });
  expect(parseAnnouncement(text)?.addresses).toEqual(["192.168.7.3"]);
});

test("questions are sent to eight addresses at most, of which a board announces four of each family", () => {
  const addresses = Array.from({ length: 20 }, (_, index) => `192.168.7.${index + 1}`);
  const both = announcementText({ ...announced, addresses: [...addresses, "fd00::3"] });
  expect(parseAnnouncement(both)?.addresses).toEqual([...addresses.slice(0, 4), "fd00::3"]);
  expect(parseAnnouncement(JSON.stringify({ ...announced, addresses }))?.addresses).toHaveLength(8);
});

test("a board is asked at the address that its kubelet reports, however many addresses of services it announces", () => {
  const addresses = Array.from({ length: 20 }, (_, index) => `192.168.7.${index + 1}`);
  const { metadata } = node("pi-3");
  const annotations = { "siteward.dev/witness": announcementText({ ...announced, addresses }) };
  const status = { addresses: [{ type: "InternalIP", address: "192.168.7.99" }] };
  const found = announcedBy({ ...node("pi-3"), metadata: { ...metadata, annotations }, status });
  expect(found?.addresses).toEqual(["192.168.7.99", ...addresses.slice(0, 4)]);
});

test("a board that finds no address of its own is asked at the address that its kubelet reports", () => {
  const silent = node("pi-3");
  expect(announcedBy(silent)).toBe(undefined);
  const found = {
    ...silent,
    metadata: {
      ...silent.metadata,
      annotations: { "siteward.dev/witness": announcementText({ ...announced, addresses: [] }) },
    },
    status: {
      ...silent.status,
      addresses: [
        { type: "Hostname", address: "pi-3" },
        { type: "InternalIP", address: "10.0.0.3" },
      ],
    },
  };
  expect(announcedBy(found)).toEqual({ ...announced, addresses: ["10.0.0.3"] });
});
