import type { Random } from "../base/random.ts";

/** The holderIdentity for a Lease: the board's name, and a part that differs in each process. */
export const identityOf = (board: string, random: Random): string => `${board}_${random.uuid()}`;

/** The board's name in an identity. */
export const boardOf = (identity: string): string => identity.slice(0, identity.lastIndexOf("_")) || identity;
