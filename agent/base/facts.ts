/** Small facts that survive a restart of this board. Memo implements it. */
export interface Facts {
  get(area: string, key: string): string | undefined;
  set(area: string, key: string, value: string): void;
}
