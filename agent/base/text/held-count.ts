import { counted } from "./counted.ts";

/** Held acts are tracked one by one, but not all of them if there are very many: a count from here on is a minimum. */
export const maxHeldCounted = 100;

/** A number of acts that are held back, with its noun: "12 acts", "at least 100 acts". */
export const countedHeld = (count: number, noun: string): string =>
  `${count >= maxHeldCounted ? "at least " : ""}${counted(count, noun)}`;
