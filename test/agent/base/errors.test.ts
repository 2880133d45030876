import { describe, expect, test } from "vitest";
import {
  ConfigError,
  dispositionOf,
  hintOf,
  isUnforeseen,
  sentenceOf,
  TerminalError,
} from "../../../agent/base/errors.ts";

describe("the disposition of an error", () => {
  test.each([
    [new TerminalError("no"), "drop"],
    [new ConfigError(["a", "b"]), "exit"],
    [{ disposition: "rebuild" }, "rebuild"],
    [new Error("loop failed", { cause: new ConfigError(["a"]) }), "exit"],
    [new Error("outer", { cause: new Error("inner", { cause: { disposition: "refresh" } }) }), "refresh"],
  ])("is that of the outermost error that states one", (error, disposition) => {
    expect(dispositionOf(error)).toBe(disposition);
    expect(isUnforeseen(error)).toBe(false);
  });

  test.each([new Error("bug"), "text", undefined, null, 7, { disposition: "explode" }, { disposition: 7 }])(
    "is retry if no error in the chain states one: %s",
    (error) => {
      expect(dispositionOf(error)).toBe("retry");
      expect(isUnforeseen(error)).toBe(true);
    },
  );

  test("is retry in a circular chain of causes", () => {
    const error = new Error("a");
    error.cause = new Error("b", { cause: error });
    expect(dispositionOf(error)).toBe("retry");
  });
});

test("hints and messages come from the whole chain of causes", () => {
  const cause = Object.assign(new Error("no space"), { hint: "Free space on /var." });
  const error = new Error("write state.db", { cause });
  expect(hintOf(error)).toBe("Free space on /var.");
  expect(sentenceOf(error)).toBe("write state.db: no space");
  expect(hintOf(new Error("x"))).toBeUndefined();
  expect(sentenceOf("plain")).toBe("plain");
});
