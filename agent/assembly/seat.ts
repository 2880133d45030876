import { Memo } from "../../storage/memo.ts";
import type { Ambient } from "../base/ambient.ts";
import { identityOf } from "../board/identity.ts";
import { LeaderMemo } from "../election/leader-memo.ts";
import { HoldMemory } from "../holds/hold-memory.ts";
import { ValveMemory } from "../holds/valve-memory.ts";
import type { Edges } from "./edges.ts";

/** This board as a candidate: the Lease it competes for, its identity, and its memory that survives the process. */
export interface Seat {
  /** The place of the site's Lease. */
  readonly at: { readonly namespace: string; readonly name: string };
  /** The holderIdentity that this process writes into the Lease. */
  readonly identity: string;
  readonly memo: Memo;
  readonly leaderMemo: LeaderMemo;
  readonly holdMemory: HoldMemory;
  readonly valveMemory: ValveMemory;
}

export function seatOf(ambient: Ambient, { config, folder, place, bootId }: Edges): Seat {
  const { board, leader, site } = config;
  const facts = new Memo(folder.state.database);
  const at = { namespace: leader.namespace, name: `siteward-${site.name}` };
  const lease = `${at.namespace}/${at.name}`;
  return {
    at,
    identity: identityOf(board.name, ambient.random),
    memo: facts,
    leaderMemo: new LeaderMemo({ facts, place, lease }),
    holdMemory: new HoldMemory(ambient, { facts, bootId, lease }),
    valveMemory: new ValveMemory(ambient, { facts, bootId, lease }),
  };
}
