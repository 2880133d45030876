import { counted } from "./counted.ts";

/** Acts that are held back are followed one by one, but not all of very many: a count from here on is a minimum. */
export const maxHeldCounted = 100;

/** A number of acts that are held back, with its noun: "12 acts", "at least 100 acts". */
export const countedHeld = (count: number, noun: string): string =>
  `${count >= maxHeldCounted ? "at least " : ""}${counted(count, noun)}`;
