/**
 * The MQTT client keeps the topic aliases that it gives in such a cache. This program gives none: the client only makes the
 * cache, where the broker would allow aliases, and empties it.
 */
exports.LRUCache = class {
  clear() {}
};
