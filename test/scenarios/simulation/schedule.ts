import type { Millis } from "../../../agent/base/clock.ts";
import type { HoldScope } from "../../../agent/holds/holds.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import type { CacheLoss } from "./board-storage.ts";
import type { Healing } from "./edge.ts";
import { commonMotifs, type Motif, motifs } from "./motifs.ts";
import type { Waking } from "./sim-process.ts";

export interface Board {
  readonly name: string;
  readonly number: number;
  readonly zone: string;
  /** The rate of its quartz. */
  readonly pace: number;
  /** The initial time of its wall clock. */
  readonly wall: Millis;
  /** One-way latency without faults. */
  readonly latency: Millis;
  /** Whether pings detect a silently dead connection. */
  readonly pings: boolean;
}

export interface Timing {
  readonly name: "unhurried" | "as client-go";
  readonly duration: Millis;
  readonly renewDeadline: Millis;
  readonly retry: Millis;
}

/** A site before the first fault. */
export interface Setting {
  readonly boards: readonly Board[];
  readonly policy: "evidence" | "kubernetes";
  readonly standby: "cold" | "warm";
  readonly followers: "expiry" | "poll";
  readonly timing: Timing;
  /** Boards per second that may be tainted in a zone. */
  readonly evictionRate: number;
  /** Harmful acts that the safety valve permits in an hour; undefined: as many as by default. */
  readonly maxHarm: number | undefined;
  /** Whether another board can take over some of the pods only (pod-keeper.ts). */
  readonly pins: boolean;
  /** Whether a label selects the site's boards: pods are then watched board by board. */
  readonly selects: boolean;
  /**
   * Whether the boards have a LAN on which they ask each other. same cable: what cuts a board's whole link to the API
   * server silently cuts it off the LAN too.
   */
  readonly lan: "none" | "apart" | "same cable";
}

/** The program whose path to the API server is affected. A board's cable carries both. */
export type Lane = "agent" | "kubelet" | "both";

export type Fault = { readonly at: Millis } & (
  | {
      readonly is: "cut";
      readonly board: string;
      readonly lane: Lane;
      readonly how: "silent" | "refused";
      readonly for: Millis;
      readonly healing: Healing;
    }
  | { readonly is: "slow"; readonly board: string; readonly lane: Lane; readonly delay: Millis; readonly for: Millis }
  | { readonly is: "answers lost"; readonly board: string; readonly lane: Lane; readonly for: Millis }
  | {
      readonly is: "watches stalled";
      readonly board: string;
      readonly lane: Lane;
      readonly for: Millis;
      readonly healing: Healing;
    }
  | {
      readonly is: "storm";
      /** "every": all of them. */
      readonly board: string;
      readonly lane: Lane;
      readonly status: number;
      readonly share: number;
      readonly retryAfter: number | undefined;
      readonly for: Millis;
    }
  /** `for` undefined: it stays dark. */
  | {
      readonly is: "power cut";
      readonly board: string;
      readonly for: Millis | undefined;
      readonly cache: CacheLoss;
      /** The time of its wall clock after the return; undefined: the right time. */
      readonly wakesIn: Millis | undefined;
    }
  /** Nobody hears the board on the LAN, and it hears nobody; `for` undefined: for good. */
  | { readonly is: "LAN cut"; readonly board: string; readonly for: Millis | undefined }
  /** The board gets another address on the LAN. */
  | { readonly is: "new address"; readonly board: string }
  /** The board's Wi-Fi loses a share of the datagrams, in each direction; which ones follows from the seed. */
  | {
      readonly is: "LAN lossy";
      readonly board: string;
      readonly share: number;
      readonly seed: number;
      readonly for: Millis;
    }
  /** The board's kubelet ends, and does not run again, also after a restart of the board. */
  | { readonly is: "kubelet dead"; readonly board: string }
  | { readonly is: "agent restart"; readonly board: string; readonly how: "stopped" | "killed"; readonly for: Millis }
  | { readonly is: "pause"; readonly board: string; readonly for: Millis; readonly waking: Waking }
  | { readonly is: "api restart"; readonly for: Millis; readonly how: "orderly" | "crash"; readonly forgetful: boolean }
  /** The store is restored to its state from `age` before the server went down. */
  | { readonly is: "api restored"; readonly age: Millis; readonly for: Millis; readonly how: "orderly" | "crash" }
  | { readonly is: "store lost"; readonly for: Millis }
  | { readonly is: "clock step"; readonly board: string; readonly by: Millis | "1970" }
  | { readonly is: "lease deleted" }
  /** An operator's command to the current leader; after `for` it is withdrawn or expires. */
  | {
      readonly is: "hold";
      readonly what: { readonly freeze: HoldScope } | { readonly pause: string };
      readonly for: Millis;
      readonly takenBack: boolean;
    }
  /**
   * An operator who stands beside a board without power confirms to the leader that it is dead, and repeats the order
   * until it is done or the board has power again.
   */
  | { readonly is: "confirmed dead"; readonly board: string }
  /** An operator orders the leader to leave the Lease to the others, or to one of them, and does not repeat the order. */
  | { readonly is: "step down"; readonly to: string | undefined; readonly holdOff: Millis }
);

export interface Schedule {
  readonly seed: number;
  readonly setting: Setting;
  /** In chronological order. The board "leader" is the leader at that moment, "follower" another board with power. */
  readonly faults: readonly Fault[];
  /** The end of all faults, except those that cannot be ended. */
  readonly calmAt: Millis;
}

const timings: readonly Timing[] = [
  { name: "unhurried", duration: 60_000, renewDeadline: 40_000, retry: 10_000 },
  { name: "as client-go", duration: 15_000, renewDeadline: 10_000, retry: 2000 },
];

/** By then the sites are up, and the first leader judges boards. */
export const settled: Millis = 90_000;
const hour: Millis = 3_600_000;
const year: Millis = 365 * 24 * hour;
export const realWall = Date.parse("2026-03-01T12:00:00Z");

/** The LAN is drawn apart from everything else, so that the boards and other faults of a seed do not depend on it. */
function lanOf(random: SeededRandom): Setting["lan"] {
  const chance = random.next();
  return chance < 0.4 ? "none" : chance < 0.8 ? "apart" : "same cable";
}

/** Mostly a few boards, sometimes many. */
const sizes = [1, 2, 2, 3, 3, 3, 3, 5, 5, 5];

export interface Wishes {
  readonly boards?: number | undefined;
  readonly policy?: Setting["policy"] | undefined;
  /** Only this fault. */
  readonly motif?: Motif | undefined;
  readonly lan?: Setting["lan"] | undefined;
}

export function scheduleOf(seed: number, random: SeededRandom, wishes: Wishes = {}): Schedule {
  const { one, between, happens } = drawsOf(random);
  const ofLan = new SeededRandom(seed ^ 0x1a4);
  const ofFlaps = drawsOf(new SeededRandom(seed ^ 0xf1a9));
  const ofOrders = drawsOf(new SeededRandom(seed ^ 0x0dde));

  const drawn = happens(0.04) ? 20 : one(sizes);
  const count = wishes.boards ?? drawn;
  const zones = 1 + random.integer(Math.min(3, count));
  const boards = Array.from({ length: count }, (_, index): Board => {
    const wall = happens(0.1) ? between(0, 1000) : happens(0.2) ? realWall + between(-hour, hour) : realWall;
    return {
      name: `pi-${index + 1}`,
      number: index + 1,
      zone: `zone-${(index % zones) + 1}`,
      pace: 1 + (random.next() - 0.5) / 100,
      wall,
      latency: one([0, 0, 3, 40]),
      pings: happens(0.5),
    };
  });
  const policy = one(["evidence", "kubernetes"] as const);
  const setting: Setting = {
    boards,
    policy: wishes.policy ?? policy,
    standby: happens(0.25) ? "warm" : "cold",
    followers: happens(0.5) ? "expiry" : "poll",
    timing: one(timings),
    evictionRate: one([0.1, 0.02]),
    // Not drawn, so that it changes no other choice. A dead board costs four acts.
    maxHarm: [undefined, 3, 6][seed % 3],
    pins: true,
    selects: happens(0.15),
    lan: wishes.lan ?? lanOf(ofLan),
  };

  const calmAt = settled + between(60_000, 480_000);
  const how = { one, between, happens, setting, calmAt };
  const motif = wishes.motif ?? (happens(0.6) ? one(commonMotifs) : undefined);
  const chances = wishes.motif === undefined ? between(0, 2 + Math.min(5, count)) : 0;
  const faults = [
    ...(motif === undefined ? [] : motifs[motif](how)),
    ...Array.from({ length: chances }, () => faultOf(how)),
    ...(wishes.motif === undefined && happens(0.35) ? Array.from({ length: between(1, 3) }, () => holdOf(how)) : []),
    ...(wishes.motif === undefined && ofFlaps.happens(0.15) ? motifs["flapping site"]({ ...how, ...ofFlaps }) : []),
    ...(wishes.motif === undefined && ofOrders.happens(0.15) ? motifs["confirmed board"]({ ...how, ...ofOrders }) : []),
    ...(wishes.motif === undefined && ofOrders.happens(0.05)
      ? motifs["revived confirmation"]({ ...how, ...ofOrders })
      : []),
    ...(wishes.motif === undefined && ofOrders.happens(0.15) ? [stepDownOf({ ...how, ...ofOrders })] : []),
    ...(wishes.motif === undefined && setting.lan !== "none" ? cutOnLan({ ...how, ...drawsOf(ofLan) }) : []),
  ]
    .filter(({ at }) => at < calmAt)
    .sort((a, b) => a.at - b.at);
  return { seed, setting, faults: withSurvivor(faults, setting), calmAt };
}

/** Sites with a LAN lose the link of a board more often, and the LAN itself. */
const cutOnLan = (how: How): readonly Fault[] => [
  ...(how.happens(0.4) ? motifs["cut board"](how) : []),
  ...(how.happens(0.2) ? motifs["broken LAN"](how) : []),
  ...(how.happens(0.15) ? motifs["moved board"](how) : []),
];

const drawsOf = (random: SeededRandom): Pick<How, "one" | "between" | "happens"> => ({
  one: <T>(choices: readonly T[]): T => choices[random.integer(choices.length)] as T,
  between: (least, most) => Math.round(least + random.next() * (most - least)),
  happens: (share) => random.next() < share,
});

export interface How {
  readonly one: <T>(choices: readonly T[]) => T;
  readonly between: (least: number, most: number) => number;
  readonly happens: (share: number) => boolean;
  readonly setting: Setting;
  readonly calmAt: Millis;
}

function faultOf({ one, between, happens, setting, calmAt }: How): Fault {
  const at = between(settled, calmAt);
  const length = happens(0.3)
    ? between(200, 12_000)
    : happens(0.6)
      ? between(12_000, 90_000)
      : between(90_000, 400_000);
  const board = happens(0.4) ? "leader" : one(setting.boards).name;
  const lane = one(["agent", "kubelet", "both", "both"] as const);
  const healing = one(["late", "reset"] as const);
  switch (between(0, 18)) {
    case 0:
    case 1:
    case 2:
      return { at, is: "cut", board, lane, how: "silent", for: length, healing };
    case 3:
      return { at, is: "cut", board, lane, how: "refused", for: length, healing };
    case 4:
      return { at, is: "slow", board, lane, delay: one([300, 2000, 8000]), for: length };
    case 5:
      return { at, is: "answers lost", board, lane, for: length };
    case 6:
      return { at, is: "watches stalled", board, lane, for: length, healing };
    case 7: {
      const status = one([429, 429, 500, 503]);
      const retryAfter = happens(0.5) ? one([1, 1, 5, 30]) : undefined;
      const share = one([0.2, 0.6, 1]);
      return { at, is: "storm", board: happens(0.4) ? "every" : board, lane, status, share, retryAfter, for: length };
    }
    case 8:
    case 9:
    case 10:
      return {
        at,
        is: "power cut",
        board,
        for: happens(0.35) ? undefined : length,
        cache: one(["none", "recent", "all"] as const),
        wakesIn: happens(0.5) ? between(0, 1000) : undefined,
      };
    case 11:
      return { at, is: "agent restart", board, how: one(["stopped", "killed"] as const), for: between(200, 30_000) };
    case 12:
    case 13:
      return { at, is: "pause", board, for: length, waking: one(["timers first", "answers first"] as const) };
    case 14:
      return { at, is: "api restart", for: length, how: one(["orderly", "crash"] as const), forgetful: happens(0.5) };
    case 15:
      return { at, is: "store lost", for: length };
    case 16:
      return {
        at,
        is: "api restored",
        age: between(500, 240_000),
        for: length,
        how: one(["orderly", "crash"] as const),
      };
    case 17:
      return { at, is: "clock step", board, by: one([-hour, hour, -10 * year, 10 * year, "1970"] as const) };
    default:
      return { at, is: "lease deleted" };
  }
}

/** Ends by the calm, after which the site must converge. */
export function holdOf({ one, between, happens, setting, calmAt }: How): Fault {
  const at = between(settled, calmAt - 30_000);
  const { name, zone } = one(setting.boards);
  const scopes = [{ scope: "site" }, { scope: "zone", target: zone }, { scope: "board", target: name }] as const;
  const pausable = ["taint-eviction", "node-lifecycle", "pod-readiness", "pod-gc"];
  const what = happens(0.7) ? { freeze: one(scopes) } : { pause: one(pausable) };
  return { at, is: "hold", what, for: between(10_000, calmAt - at), takenBack: happens(0.5) };
}

const stepDownOf = ({ one, between, happens, setting, calmAt }: How): Fault => ({
  at: between(settled, calmAt - 30_000),
  is: "step down",
  to: happens(0.5) ? one(setting.boards).name : undefined,
  holdOff: between(5000, 60_000),
});

/** At least one board must survive; because "leader" is not known yet, two are spared. */
function withSurvivor(faults: readonly Fault[], { boards }: Setting): readonly Fault[] {
  let dark = 0;
  return faults.map((fault) => {
    if (fault.is !== "power cut" || fault.for !== undefined) return fault;
    dark++;
    return dark > Math.min(boards.length - 1, 4) ? { ...fault, for: 60_000 } : fault;
  });
}

const seconds = (time: Millis): string => `${(time / 1000).toFixed(3)}s`;

/** A description of the site and its faults, for people. */
export function described({ setting, faults, calmAt, seed }: Schedule): readonly string[] {
  const { boards, timing, ...rest } = setting;
  return [
    `seed ${seed}: ${JSON.stringify({ ...rest, timing: timing.name })}`,
    ...boards.map((board) => `  ${JSON.stringify(board)}`),
    ...faults.map(({ at, ...fault }) => `  ${seconds(at)} ${JSON.stringify(fault)}`),
    `  ${seconds(calmAt)} calm`,
  ];
}
