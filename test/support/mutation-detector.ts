import { DecodeCache } from "../../storage/indexer/decode-cache.ts";
import { ObjectTable } from "../../storage/indexer/object-table.ts";
import { QuietStates } from "../../storage/indexer/quiet-states.ts";

/**
 * All readers share a cache's objects. Tests freeze them when they are stored, so that a change throws at the line that
 * makes it; client-go's mutation detector finds it a second later by comparison with a copy.
 */
const { put } = DecodeCache.prototype;
DecodeCache.prototype.put = function frozenPut(key, object, textLength): void {
  put.call(this, key, frozen(object), textLength);
};

const { decode } = ObjectTable.prototype;
ObjectTable.prototype.decode = function frozenDecode(text, key, row) {
  return frozen(decode.call(this, text, key, row));
};

const { keep } = QuietStates.prototype;
QuietStates.prototype.keep = function frozenKeep(states): void {
  for (const object of states.values()) frozen(object);
  keep.call(this, states);
};

function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) frozen(part);
  return value;
}
