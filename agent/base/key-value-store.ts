/** Persistent strings by area and key. `Memo` in storage/ implements it on state.db. */
export interface KeyValueStore {
  get(area: string, key: string): string | undefined;
  set(area: string, key: string, value: string): void;
}
