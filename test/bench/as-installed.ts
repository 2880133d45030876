/** An agent that nobody has configured: the tests' agents write their status more often, and log all they do. */
export const asInstalled = { status: { minInterval: "10s" }, log: { level: "info", format: "text" } } as const;
