import { describe, expect, test } from "vitest";
import {
  decodeAnswer,
  decodeQuestion,
  encodeAnswer,
  encodeQuestion,
  minQuestionLength,
} from "../../../agent/witness/datagrams.ts";

const nonce = Buffer.from("000102030405060708090a0b0c0d0e0f", "hex");
const question = { nonce, site: "plant", board: "pi-3" };
const boot = "6c1e6d2a-4f0e-4f5b-9a53-0a4c3c1c2d1e";
const signature = Buffer.alloc(64, 7);

describe("a question", () => {
  test.each([
    ["plant", "pi-3"],
    ["s".repeat(40), "b".repeat(253)],
    ["", ""],
  ])("is read as it was written: site %j, board %j", (site, board) => {
    expect(decodeQuestion(encodeQuestion({ nonce, site, board }))).toEqual({ nonce, site, board });
  });

  test("has room for the longest answer", () => {
    const answer = encodeAnswer({ nonce, boot, kubelet: { is: "down", forMs: 1e15 }, signature });
    expect(encodeQuestion(question)).toHaveLength(minQuestionLength);
    expect(answer.length).toBeLessThanOrEqual(minQuestionLength);
  });

  const bytes = Buffer.from(encodeQuestion(question));
  const changed = (change: (bytes: Buffer) => void): Buffer => {
    const copy = Buffer.from(bytes);
    change(copy);
    return copy;
  };

  test.each([
    ["empty", Buffer.alloc(0)],
    ["shorter than an answer", bytes.subarray(0, minQuestionLength - 1)],
    ["longer than any question", Buffer.concat([bytes, Buffer.alloc(500)])],
    ["of another version", changed((copy) => copy.write("swq2"))],
    ["an answer", encodeAnswer({ nonce, boot, kubelet: { is: "ok" }, signature })],
    ["with a name that reaches beyond its end", changed((copy) => copy.writeUInt8(200, 20))],
    ["with a name that is too long", changed((copy) => copy.writeUInt8(254, 20))],
    ["with something after its names", changed((copy) => copy.writeUInt8(1, minQuestionLength - 1))],
  ])("%s is refused", (_, datagram) => {
    expect(decodeQuestion(datagram)).toBe(undefined);
  });
});

describe("an answer", () => {
  test.each([{ is: "ok" }, { is: "unknown" }, { is: "down", forMs: 0 }, { is: "down", forMs: 901_000 }] as const)(
    "round-trips: %o",
    (kubelet) => {
      expect(decodeAnswer(encodeAnswer({ nonce, boot, kubelet, signature }))).toEqual({
        nonce,
        boot,
        kubelet,
        signature,
      });
    },
  );

  const bytes = Buffer.from(encodeAnswer({ nonce, boot, kubelet: { is: "ok" }, signature }));
  const state = 4 + 16 + 1 + boot.length;
  const changed = (at: number, value: number): Buffer => {
    const copy = Buffer.from(bytes);
    copy.writeUInt8(value, at);
    return copy;
  };

  test.each([
    ["empty", Buffer.alloc(0)],
    ["cut short", bytes.subarray(0, -1)],
    ["too long", Buffer.concat([bytes, Buffer.alloc(1)])],
    ["a question", encodeQuestion(question)],
    ["with an unknown state", changed(state, 3)],
    ["with a time for a kubelet that runs", changed(state + 4, 1)],
    ["with a boot id that reaches beyond its end", changed(4 + 16, 120)],
  ])("%s is refused", (_, datagram) => {
    expect(decodeAnswer(datagram)).toBe(undefined);
  });
});
