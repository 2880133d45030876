import type { Random } from "../base/random.ts";

/** Under which name a board stands for election: a part of it is another one for each process. */
export const identityOf = (board: string, random: Random): string => `${board}_${random.uuid()}`;

/** The board whose identity holds a Lease. */
export const boardOf = (identity: string): string => identity.slice(0, identity.lastIndexOf("_")) || identity;
