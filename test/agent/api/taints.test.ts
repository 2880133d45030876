import { describe, expect, test } from "vitest";
import { changeTaints, isSameTaint, noExecuteTaints, taintsOf, tolerates } from "../../../agent/api/taints.ts";
import { node, shown, taint } from "../../support/builders.ts";

describe("a list of taints", () => {
  const before = [taint("a=1:NoSchedule"), taint("a:NoExecute"), taint("b:NoExecute")];

  test("changes as a whole: additions at the end, replacements in place, everything else untouched", () => {
    const add = [taint("c:NoExecute"), { ...taint("a:NoExecute"), timeAdded: "T" }];
    const after = changeTaints(before, { add, remove: [taint("b:NoExecute")] });
    expect(after.map(shown)).toEqual(["a=1:NoSchedule", "a:NoExecute", "c:NoExecute"]);
    expect(after[1]?.timeAdded).toBe("T");
  });

  test("identifies taints by key and effect", () => {
    expect(isSameTaint(taint("a=1:NoExecute"), taint("a=2:NoExecute"))).toBe(true);
    expect(isSameTaint(taint("a:NoExecute"), taint("a:NoSchedule"))).toBe(false);
  });

  test("tolerates missing and malformed taints", () => {
    expect(taintsOf({ metadata: node("pi").metadata })).toEqual([]);
    const odd = JSON.parse('{"taints":[null,7,{},{"key":"a","effect":"NoExecute"}]}');
    expect(noExecuteTaints({ ...node("pi"), spec: odd }).map(shown)).toEqual(["a:NoExecute"]);
    expect(taintsOf({ ...node("pi"), spec: JSON.parse('{"taints":"a"}') })).toEqual([]);
  });
});

test.each([
  [{ operator: "Exists" }, true],
  [{ key: "a", operator: "Exists" }, true],
  [{ key: "b", operator: "Exists" }, false],
  [{ key: "a", value: "1" }, true],
  [{ key: "a", operator: "Equal", value: "1" }, true],
  [{ key: "a" }, false],
  [{ key: "a", value: "1", effect: "NoSchedule" }, false],
  [{ key: "a", value: "1", effect: "NoExecute" }, true],
  [{ key: "a", operator: "Lt", value: "9" }, false],
])("%o tolerates a=1:NoExecute: %s", (toleration, expected) => {
  expect(tolerates(toleration, taint("a=1:NoExecute"))).toBe(expected);
});
