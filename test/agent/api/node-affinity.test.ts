import { describe, expect, test } from "vitest";
import { isSelected, pinnedTo, pinTo } from "../../../agent/api/node-affinity.ts";
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
    ["In accepts one of several values", label("room", "In", "b", "a"), true],
    ["In refuses any other value", label("room", "In", "b"), false],
    ["In without values is invalid", label("room", "In"), false],
    ["NotIn", label("room", "NotIn", "b"), true],
    ["NotIn refuses its values", label("room", "NotIn", "a"), false],
    ["NotIn accepts a missing label", label("disk", "NotIn", "a"), true],
    ["NotIn without values is invalid", label("room", "NotIn"), false],
    ["Exists", label("room", "Exists"), true],
    ["Exists refuses a missing label", label("disk", "Exists"), false],
    ["Exists with a value is invalid", label("room", "Exists", "a"), false],
    ["DoesNotExist", label("disk", "DoesNotExist"), true],
    ["DoesNotExist refuses a label that exists", label("room", "DoesNotExist"), false],
    ["an inherited member is not a label", label("constructor", "Exists"), false],
    ["Gt", label("cores", "Gt", "3"), true],
    ["Gt refuses an equal number", label("cores", "Gt", "4"), false],
    ["Lt", label("cores", "Lt", "5"), true],
    ["Lt refuses an equal number", label("cores", "Lt", "4"), false],
    ["Gt refuses a label that is not a number", label("odd", "Gt", "3"), false],
    ["Gt with a word is invalid", label("cores", "Gt", "three"), false],
    ["Gt with two numbers is invalid", label("cores", "Gt", "1", "2"), false],
    ["an unknown operator is invalid", label("room", "Near", "a"), false],
    ["a field expression accepts the Node's name", field("In", "pi-1"), true],
    ["a field expression refuses another name", field("In", "pi-2"), false],
    ["a field expression with two names is invalid", field("In", "pi-1", "pi-2"), false],
    ["NotIn accepts another name", field("NotIn", "pi-2"), true],
    ["NotIn refuses the Node's name", field("NotIn", "pi-1"), false],
    ["Exists on a field is invalid", field("Exists"), false],
    ["an empty term selects nothing", {}, false],
  ])("%s", (_, term, selected) => {
    expect(isSelected(terms(term), board)).toBe(selected);
  });
});

test("one matching term is enough, but all expressions of a term must match, and so must the nodeSelector", () => {
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
  expect(pinnedTo(pinTo(undefined, "pi-1"))).toBe("pi-1");
  expect(pinnedTo(pinTo(terms(label("room", "Exists")).affinity, "pi-2"))).toBe("pi-2");
  expect(pinnedTo(undefined)).toBeUndefined();
  expect(pinnedTo(terms(field("NotIn", "pi-1")).affinity)).toBeUndefined();
  expect(pinnedTo(terms(field("In", "pi-1", "pi-2")).affinity)).toBeUndefined();
});
