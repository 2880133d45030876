/** As a state.db is opened: what was acknowledged is on the disk. */
export const statePragmas = {
  synchronous: "FULL",
  cacheKiB: 512,
  mmapMiB: 0,
  walAutocheckpointPages: 1000,
  journalSizeLimitKiB: 4096,
} as const;
