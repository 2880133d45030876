import {
  isJsonArray,
  isJsonObject,
  isSameJson,
  type JsonObject,
  type JsonValue,
  member,
  withMember,
} from "../../agent/api/json.ts";
import { PatchError } from "./patch-error.ts";

/** The limits are those of the kube-apiserver. A small patch must not cause a large amount of work. */
const maxOperations = 10_000;
const maxCopiedCharacters = 3 * 1024 * 1024;

/** JSON patch (RFC 6902): applies the operations in order, all or nothing. */
export function applyJsonPatch(target: JsonValue, patch: JsonValue): JsonValue {
  if (!isJsonArray(patch)) throw new PatchError("malformed", "a JSON patch is a list of operations");
  if (patch.length > maxOperations) {
    throw new PatchError("inapplicable", `a JSON patch may have at most ${maxOperations} operations`);
  }
  let document = target;
  let copied = 0;
  for (const operation of patch) {
    if (!isJsonObject(operation)) throw new PatchError("malformed", "an operation of a JSON patch is an object");
    const path = pointer(operation, "path");
    switch (operation.op) {
      case "add":
        document = edited(document, path, inserted(operand(operation)));
        break;
      case "replace":
        document = edited(document, path, replaced(operand(operation)));
        break;
      case "remove":
        document = edited(document, path, removed);
        break;
      case "move": {
        const from = pointer(operation, "from");
        const value = found(document, from);
        if (path.length > from.length && from.every((part, i) => part === path[i])) {
          throw new PatchError("inapplicable", "a value cannot be moved into itself");
        }
        document = edited(edited(document, from, removed), path, inserted(value));
        break;
      }
      case "copy": {
        const value = found(document, pointer(operation, "from"));
        copied += JSON.stringify(value).length;
        if (copied > maxCopiedCharacters) throw new PatchError("inapplicable", "a JSON patch copies too much");
        document = edited(document, path, inserted(value));
        break;
      }
      case "test":
        if (!isSameJson(tested(document, path), operand(operation))) {
          throw new PatchError("inapplicable", `the test of ${String(operation.path)} failed`);
        }
        break;
      default:
        throw new PatchError("inapplicable", `unknown operation ${JSON.stringify(operation.op ?? null)}`);
    }
  }
  return document;
}

type Path = readonly string[];

function pointer(operation: JsonObject, name: "path" | "from"): Path {
  const text = operation[name];
  if (typeof text !== "string" || (text !== "" && !text.startsWith("/"))) {
    throw new PatchError("inapplicable", `${name} is not a JSON pointer`);
  }
  const parts = text.split("/").slice(1);
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function operand(operation: JsonObject): JsonValue {
  const value = member(operation, "value");
  if (value === undefined) throw new PatchError("inapplicable", `${String(operation.op)} needs a value`);
  return value;
}

const missing = (part: string): PatchError => new PatchError("inapplicable", `there is no ${JSON.stringify(part)}`);

function child(value: JsonValue, part: string): JsonValue {
  const next = isJsonArray(value) ? value[indexOf(value, part, value.length - 1)] : member(value, part);
  if (next === undefined) throw missing(part);
  return next;
}

/** The value to test. An absent field equals null, as in the kube-apiserver. */
function tested(document: JsonValue, path: Path): JsonValue {
  const last = path.at(-1);
  const around = found(document, path.slice(0, -1));
  return last !== undefined && isJsonObject(around) ? (member(around, last) ?? null) : found(document, path);
}

const found = (document: JsonValue, path: Path): JsonValue => path.reduce(child, document);

function indexOf(list: readonly JsonValue[], part: string, last: number): number {
  const index = /^(0|[1-9]\d*)$/.test(part) ? Number(part) : Number.NaN;
  if (!(index <= last) || last > list.length) throw missing(part);
  return index;
}

/** The operation on the last part of a path in its container; `undefined` if the path is the whole document. */
type Edit = (container: JsonValue | undefined, part: string) => JsonValue;

function edited(value: JsonValue, path: Path, edit: Edit): JsonValue {
  const [part, ...rest] = path;
  if (part === undefined) return edit(undefined, "");
  if (rest.length === 0) return edit(value, part);
  const changed = edited(child(value, part), rest, edit);
  return isJsonArray(value) ? value.with(Number(part), changed) : { ...(value as JsonObject), [part]: changed };
}

const inserted =
  (value: JsonValue): Edit =>
  (container, part) => {
    if (container === undefined) return value;
    if (isJsonArray(container)) {
      return container.toSpliced(
        part === "-" ? container.length : indexOf(container, part, container.length),
        0,
        value,
      );
    }
    if (isJsonObject(container)) return withMember(container, part, value);
    throw missing(part);
  };

const replaced =
  (value: JsonValue): Edit =>
  (container, part) => {
    if (container === undefined) return value;
    // An absent field is added, as in the kube-apiserver and unlike RFC 6902.
    if (isJsonObject(container)) return withMember(container, part, value);
    child(container, part);
    return isJsonArray(container) ? container.with(Number(part), value) : container;
  };

const removed: Edit = (container, part) => {
  if (container === undefined) throw new PatchError("inapplicable", "the whole document cannot be removed");
  child(container, part);
  return isJsonArray(container)
    ? container.toSpliced(Number(part), 1)
    : withMember(container as JsonObject, part, undefined);
};
