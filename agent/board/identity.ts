import type { Random } from "../base/random.ts";

/** The identity under which a board stands for election: board name and a part that is new in each process. */
export const identityOf = (board: string, random: Random): string => `${board}_${random.uuid()}`;

/** The board whose identity holds a Lease. */
export const boardOf = (identity: string): string => identity.slice(0, identity.lastIndexOf("_")) || identity;
