import { describe, expect, test } from "vitest";
import { isSelected, pinned, pinnedTo } from "../../../agent/api/node-affinity.ts";
import { node } from "../../support/builders.ts";

const board = node("pi-1", { labels: { room: "a", cores: "4", odd: "four" } });

const terms = (...nodeSelectorTerms: readonly object[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const label = (key: string, operator: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator, values }],
});
const field = (operator: string, ...values: readonly string[]) => ({
  matchFields: [{ key: "metadata.name", operator, values }],
});

describe("one expression", () => {
  test.each<[string, object, boolean]>([
    ["In, among others", label("room", "In", "b", "a"), true],
    ["In, none of them", label("room", "In", "b"), false],
    ["In nothing cannot be read", label("room", "In"), false],
    ["NotIn", label("room", "NotIn", "b"), true],
    ["NotIn, and it is", label("room", "NotIn", "a"), false],
    ["NotIn of a label that is not there", label("disk", "NotIn", "a"), true],
    ["NotIn nothing cannot be read", label("room", "NotIn"), false],
    ["Exists", label("room", "Exists"), true],
    ["Exists, and does not", label("disk", "Exists"), false],
    ["Exists with a value cannot be read", label("room", "Exists", "a"), false],
    ["DoesNotExist", label("disk", "DoesNotExist"), true],
    ["DoesNotExist, and does", label("room", "DoesNotExist"), false],
    ["an inherited member is no label", label("constructor", "Exists"), false],
    ["Gt", label("cores", "Gt", "3"), true],
    ["Gt itself", label("cores", "Gt", "4"), false],
    ["Lt", label("cores", "Lt", "5"), true],
    ["Lt itself", label("cores", "Lt", "4"), false],
    ["Gt of a value that is no number", label("odd", "Gt", "3"), false],
    ["Gt a word cannot be read", label("cores", "Gt", "three"), false],
    ["Gt two numbers cannot be read", label("cores", "Gt", "1", "2"), false],
    ["an unknown operator", label("room", "Near", "a"), false],
    ["its name", field("In", "pi-1"), true],
    ["another name", field("In", "pi-2"), false],
    ["two names cannot be read", field("In", "pi-1", "pi-2"), false],
    ["not another name", field("NotIn", "pi-2"), true],
    ["not its name", field("NotIn", "pi-1"), false],
    ["a field knows no Exists", field("Exists"), false],
    ["nothing at all selects nothing", {}, false],
  ])("%s", (_, term, selected) => {
    expect(isSelected(terms(term), board)).toBe(selected);
  });
});

test("one matching term is enough, all expressions of a term are needed, and the nodeSelector as well", () => {
  const [room, disk] = [label("room", "In", "a"), label("disk", "Exists")];
  expect(isSelected(terms(disk, room), board)).toBe(true);
  expect(isSelected(terms({ matchExpressions: [...room.matchExpressions, ...disk.matchExpressions] }), board)).toBe(
    false,
  );
  expect(isSelected(terms({ ...room, ...field("In", "pi-2") }), board)).toBe(false);
  expect(isSelected(terms(), board)).toBe(false);
  expect(isSelected({}, board)).toBe(true);
  expect(isSelected({ nodeSelector: { room: "a" } }, board)).toBe(true);
  expect(isSelected({ nodeSelector: { room: "b" }, ...terms(room) }, board)).toBe(false);
});

test("a pod pinned to a board is recognised as meant for that board only", () => {
  expect(pinnedTo(pinned(undefined, "pi-1"))).toBe("pi-1");
  expect(pinnedTo(pinned(terms(label("room", "Exists")).affinity, "pi-2"))).toBe("pi-2");
  expect(pinnedTo(undefined)).toBeUndefined();
  expect(pinnedTo(terms(field("NotIn", "pi-1")).affinity)).toBeUndefined();
  expect(pinnedTo(terms(field("In", "pi-1", "pi-2")).affinity)).toBeUndefined();
});
