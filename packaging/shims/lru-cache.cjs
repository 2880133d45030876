/**
 * A cache in which the MQTT client keeps the topic of each alias that it assigns, never more than the broker permits.
 * Keys are returned in the order that the client expects: the most recently used first.
 */
exports.LRUCache = class {
  #topics = new Map();

  get size() {
    return this.#topics.size;
  }

  get(alias) {
    const topic = this.#topics.get(alias);
    if (topic !== undefined) this.set(alias, topic);
    return topic;
  }

  set(alias, topic) {
    this.#topics.delete(alias);
    this.#topics.set(alias, topic);
  }

  keys() {
    return [...this.#topics.keys()].reverse();
  }

  clear() {
    this.#topics.clear();
  }
};
