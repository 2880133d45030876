/** Real time, for stories of real processes. */
export const rest = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
