/** Small facts that survive a restart of this board. A Memo is one. */
export interface Facts {
  get(area: string, key: string): string | undefined;
  set(area: string, key: string, value: string): void;
}
