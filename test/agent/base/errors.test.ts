import { describe, expect, test } from "vitest";
import {
  ConfigError,
  dispositionOf,
  hintOf,
  isUnforeseen,
  sentenceOf,
  TerminalError,
} from "../../../agent/base/errors.ts";

describe("what an error asks for", () => {
  test.each([
    [new TerminalError("no"), "drop"],
    [new ConfigError(["a", "b"]), "exit"],
    [{ disposition: "rebuild" }, "rebuild"],
    [new Error("loop failed", { cause: new ConfigError(["a"]) }), "exit"],
    [new Error("outer", { cause: new Error("inner", { cause: { disposition: "refresh" } }) }), "refresh"],
  ])("is what the outermost error states that states anything", (error, disposition) => {
    expect(dispositionOf(error)).toBe(disposition);
    expect(isUnforeseen(error)).toBe(false);
  });

  test.each([new Error("bug"), "text", undefined, null, 7, { disposition: "explode" }, { disposition: 7 }])(
    "is to try again where nothing is stated: nobody foresaw %s",
    (error) => {
      expect(dispositionOf(error)).toBe("retry");
      expect(isUnforeseen(error)).toBe(true);
    },
  );

  test("ends also with causes that go in a circle", () => {
    const error = new Error("a");
    error.cause = new Error("b", { cause: error });
    expect(dispositionOf(error)).toBe("retry");
  });
});

test("hints and sentences come from the whole chain of causes", () => {
  const cause = Object.assign(new Error("no space"), { hint: "Free space on /var." });
  const error = new Error("write state.db", { cause });
  expect(hintOf(error)).toBe("Free space on /var.");
  expect(sentenceOf(error)).toBe("write state.db: no space");
  expect(hintOf(new Error("x"))).toBeUndefined();
  expect(sentenceOf("plain")).toBe("plain");
});
