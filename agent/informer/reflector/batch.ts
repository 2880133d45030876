import { heapWeight } from "../../base/heap-weight.ts";

const maxItems = 64;
/** Maximum total `heapWeight` of all objects. 64 trimmed pods of typical size weigh half as much. */
const maxWeight = 50_000;

/** Collects items for one transaction: 64, or fewer if their objects are large. */
export class Batch<Item> {
  #items: Item[] = [];
  #weight = 0;

  get isFull(): boolean {
    return this.#items.length >= maxItems || this.#weight >= maxWeight;
  }

  /** Adds an item; `object` is its large part. */
  add(item: Item, object: unknown): void {
    this.#items.push(item);
    this.#weight += heapWeight(object);
  }

  /** Returns all items and empties the batch. */
  take(): readonly Item[] {
    const items = this.#items;
    this.#items = [];
    this.#weight = 0;
    return items;
  }
}
