/** The settings with which state.db is opened: acknowledged writes are on disk. */
export const statePragmas = {
  synchronous: "FULL",
  cacheKiB: 512,
  mmapMiB: 0,
  walAutocheckpointPages: 1000,
  journalSizeLimitKiB: 4096,
} as const;
