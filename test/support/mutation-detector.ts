import { DecodeCache } from "../../storage/decode-cache.ts";
import { Indexer } from "../../storage/indexer.ts";

/**
 * Whatever a cache hands out is shared by all who read it. In tests it is frozen as it goes in, so that whoever changes
 * it fails at the line that does: what client-go's mutation detector finds by comparing with a copy, a second later.
 */
const { put } = DecodeCache.prototype;
DecodeCache.prototype.put = function frozenPut(key, object, textLength): void {
  put.call(this, key, frozen(object), textLength);
};

const { decode, keepQuiet } = Indexer.prototype;
Indexer.prototype.decode = function frozenDecode(text, key, row) {
  return frozen(decode.call(this, text, key, row));
};
Indexer.prototype.keepQuiet = function frozenKeepQuiet(objects): void {
  for (const object of objects.values()) frozen(object);
  keepQuiet.call(this, objects);
};

function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) frozen(part);
  return value;
}
