/**
 * The MQTT client keeps the topic of each alias that it gives in such a cache: a number up to what the broker allows, so
 * that there are never more than that. Keys come in the order that the client counts on, the one used last first.
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
