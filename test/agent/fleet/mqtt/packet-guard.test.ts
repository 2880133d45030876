import { expect, test } from "vitest";
import { PacketGuard } from "../../../../agent/fleet/mqtt/packet-guard.ts";

/** A packet's fixed header, and as many bytes as it announces. */
function packet(length: number): Buffer {
  const header = [0x30];
  let rest = length;
  do {
    header.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.concat([Buffer.from(header), Buffer.alloc(length, 0xff)]);
}

test.each([
  ["nothing but its header", 0, true],
  ["exactly the permitted size", 65_532, true],
  ["one byte more", 65_533, false],
  ["much more", 2_000_000, false],
])("the guard checks the size of a packet with %s", (_, length, isAccepted) => {
  // In one piece, and byte by byte.
  expect(new PacketGuard(65_536).accepts(packet(length))).toBe(isAccepted);
  const guard = new PacketGuard(65_536);
  const bytes = packet(length).subarray(0, 70_000);
  expect([...bytes].every((byte) => guard.accepts(Uint8Array.of(byte)))).toBe(isAccepted);
});

test("an oversized packet is recognised by its header, before any of its body arrives", () => {
  expect(new PacketGuard(65_536).accepts(Uint8Array.of(0x32, 0x80, 0x80, 0x80))).toBe(true);
  expect(new PacketGuard(65_536).accepts(Uint8Array.of(0x32, 0x80, 0x80, 0x80, 0x7d))).toBe(false);
});

test("consecutive packets are separated, regardless of where the network cuts them", () => {
  const good = Buffer.concat([packet(0), packet(127), packet(128), packet(20_000), packet(3)]);
  for (const size of [1, 2, 3, 129, 1000, good.length]) {
    const guard = new PacketGuard(65_536);
    for (let at = 0; at < good.length; at += size) expect(guard.accepts(good.subarray(at, at + size))).toBe(true);
    expect(guard.accepts(packet(70_000))).toBe(false);
  }
});
