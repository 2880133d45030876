/** A number with its noun, for example "1 board" or "2 boards". Only for nouns whose plural ends in a plain s. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
