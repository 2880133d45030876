import type { Fault, How } from "./schedule.ts";

const restart = (at: number, { one, between }: How): Fault => ({
  at,
  is: "agent restart",
  board: "leader",
  how: one(["stopped", "stopped", "killed"] as const),
  for: between(200, 20_000),
});

const powerCut = (at: number, board: string, { one, between, happens }: How): Fault => ({
  at,
  is: "power cut",
  board,
  for: happens(0.4) ? undefined : between(60_000, 300_000),
  cache: one(["none", "recent", "all"] as const),
  wakesIn: undefined,
});

/** Mostly a follower. */
const bystander = ({ one, setting }: How): string => one(["follower", "follower", one(setting.boards).name]);

/** The leader's watches stall while a board dies. */
function deafLeader(how: How): readonly Fault[] {
  const at = how.between(90_000, 150_000);
  const healing = how.one(["late", "reset"] as const);
  const length = how.between(150_000, 400_000);
  const board = bystander(how);
  return [
    { at, is: "watches stalled", board: "leader", lane: "agent", for: length, healing },
    powerCut(at + how.between(0, 100_000), board, how),
  ];
}

/** Boards of one zone go dark together, and the leader changes while they wait for eviction tokens. */
function darkZone(how: How): readonly Fault[] {
  const { boards } = how.setting;
  const at = how.between(90_000, 120_000);
  const { zone } = how.one(boards);
  const dark = boards.filter((board) => board.zone === zone).slice(0, how.between(1, 3));
  const changes = Array.from({ length: how.between(1, 4) }, () => restart(at + how.between(50_000, 200_000), how));
  return [...dark.map(({ name }) => powerCut(at + how.between(0, 3000), name, how)), ...changes];
}

/**
 * The leader is suspended for about its Lease's duration while it evicts a board's pods over a slow link: it resumes just
 * before or after another board leads, and the awaited answers arrive.
 */
function pausedLeader(how: How): readonly Fault[] {
  const { duration } = how.setting.timing;
  const at = how.between(80_000, 110_000);
  const waking = how.one(["timers first", "answers first"] as const);
  const delay = how.one([300, 2000, 4000]);
  const length = how.between(0.7 * duration, 2.5 * duration);
  return [
    powerCut(at, bystander(how), how),
    { at: at + 30_000, is: "slow", board: "leader", lane: "agent", delay, for: 60_000 },
    { at: at + how.between(50_000, 85_000), is: "pause", board: "leader", for: length, waking },
  ];
}

/** The leader's requests arrive late or never, unnoticed. */
function cutLeader(how: How): readonly Fault[] {
  const { duration } = how.setting.timing;
  const at = how.between(90_000, 200_000);
  const healing = how.one(["late", "reset"] as const);
  const lane = how.one(["agent", "both"] as const);
  const board = bystander(how);
  return [
    powerCut(at - how.between(20_000, 70_000), board, how),
    { at, is: "cut", board: "leader", lane, how: "silent", for: how.between(0.5 * duration, 3 * duration), healing },
  ];
}

/** Watches stall too briefly to be noticed, then resume with the delayed data. */
function slowComeback(how: How): readonly Fault[] {
  const at = how.between(90_000, 200_000);
  const silent = how.between(45_000, 89_000);
  const lane = "agent";
  return [
    { at, is: "watches stalled", board: "leader", lane, for: silent, healing: "late" },
    { at, is: "slow", board: "leader", lane, delay: how.one([300, 2000, 8000]), for: silent + 60_000 },
  ];
}

/** The API server comes back without its history while a board is dark. */
function forgetfulApi(how: How): readonly Fault[] {
  const at = how.between(100_000, 200_000);
  const board = how.one(how.setting.boards).name;
  const length = how.between(5000, 200_000);
  return [
    powerCut(at - how.between(0, 70_000), board, how),
    { at, is: "api restart", for: length, how: how.one(["orderly", "crash"] as const), forgetful: true },
  ];
}

/**
 * The API server's store is restored from a backup while agents start and stop and a board is dark in one of the two
 * histories.
 */
function restoredApi(how: How): readonly Fault[] {
  const at = how.between(150_000, 300_000);
  const age = how.happens(0.3) ? how.between(500, 15_000) : how.between(15_000, 200_000);
  const length = how.happens(0.5) ? how.between(500, 10_000) : how.between(10_000, 120_000);
  const board = how.one(how.setting.boards).name;
  return [
    ...(how.happens(0.6)
      ? [{ ...restart(at - how.between(0, 20_000), how), for: how.between(10_000, 100_000) } as Fault]
      : []),
    ...(how.happens(0.5) ? [powerCut(at - how.between(0, age), board, how)] : []),
    { at, is: "api restored", age, for: length, how: how.one(["orderly", "crash"] as const) },
  ];
}

/** A person deletes the Lease while agents start and stop. */
function lostLease(how: How): readonly Fault[] {
  const at = how.between(90_000, 200_000);
  const { name } = how.one(how.setting.boards);
  return [
    { at, is: "lease deleted" },
    { ...restart(at + how.between(-20_000, 20_000), how), ...(how.happens(0.5) && { board: name }) },
    restart(at + how.between(0, 90_000), how),
  ];
}

/** A board's link flaps. */
function flappingBoard(how: How): readonly Fault[] {
  const { name: board } = how.one(how.setting.boards);
  const [down, up] = [how.between(5000, 80_000), how.between(5000, 60_000)];
  const lane = how.one(["kubelet", "both"] as const);
  const healing = how.one(["late", "reset"] as const);
  return Array.from({ length: how.between(3, 6) }, (_, index): Fault => {
    const at = 90_000 + index * (down + up);
    return { at, is: "cut", board, lane, how: "silent", for: down, healing };
  });
}

/** A board loses its link to the API server for long, and sometimes dies meanwhile. */
function cutBoard(how: How): readonly Fault[] {
  const at = how.between(90_000, 150_000);
  const length = how.between(100_000, 400_000);
  const { name: board } = how.one(how.setting.boards);
  const lane = how.one(["kubelet", "both", "both"] as const);
  const healing = how.one(["late", "reset"] as const);
  const way = how.one(["silent", "silent", "refused"] as const);
  return [
    { at, is: "cut", board, lane, how: way, for: length, healing },
    ...(how.happens(0.4) ? [powerCut(at + how.between(40_000, length), board, how)] : []),
  ];
}

/**
 * The API server, or all links to it, fail for some seconds, again and again, while one board is dark and another one
 * misses some of the time in between. Sometimes they fail for longer than a term lasts.
 */
function flappingSite(how: How): readonly Fault[] {
  const { boards, timing } = how.setting;
  const [short, up] = [how.between(11_000, 20_000), how.between(15_000, 48_000)];
  // Derived, not drawn, so that the other faults of a seed do not depend on it.
  const down = up % 3 < 1 ? timing.renewDeadline + short : short;
  const healing = how.one(["late", "reset"] as const);
  const is = how.one(["store lost", "api restart", "silent", "refused"] as const);
  const other = how.one(boards).name;
  const flaps = Array.from({ length: how.between(5, 10) }, (_, index): readonly Fault[] => {
    const at = 100_000 + index * (down + up);
    const missed: Fault = { at: at + down, is: "cut", board: other, lane: "both", how: "silent", for: up, healing };
    const more = how.happens(0.3) ? [missed] : [];
    if (is === "store lost") return [{ at, is, for: down }, ...more];
    if (is === "api restart") return [{ at, is, for: down, how: "crash", forgetful: false }, ...more];
    return [{ at, is: "cut", board: "every", lane: "both", how: is, for: down, healing }, ...more];
  });
  return [powerCut(how.between(95_000, 130_000), bystander(how), how), ...flaps.flat()];
}

/** The API server refuses writes for some seconds, again and again, while no kubelet reaches it. */
function unheardSite(how: How): readonly Fault[] {
  const [down, up] = [how.between(13_000, 16_000), how.between(30_000, 38_000)];
  const flaps = Array.from({ length: how.between(8, 10) }, (_, index): Fault => {
    return { at: 110_000 + index * (down + up), is: "store lost", for: down };
  });
  const length = flaps.length * (down + up);
  return [
    { at: 105_000, is: "cut", board: "every", lane: "kubelet", how: "silent", for: length, healing: "reset" },
    ...flaps,
  ];
}

/** A board loses its link for nearly a grace period, and right after that no board can write for a moment, again and again. */
function refusedHeartbeats(how: How): readonly Fault[] {
  const { boards } = how.setting;
  const healing = how.one(["late", "reset"] as const);
  let at = 100_000;
  return Array.from({ length: how.between(4, 7) }, (): readonly Fault[] => {
    const [cut, lost] = [how.between(36_000, 46_000), how.between(11_000, 19_000)];
    const { name: board } = how.one(boards);
    const faults: readonly Fault[] = [
      { at, is: "cut", board, lane: "both", how: "silent", for: cut, healing },
      { at: at + cut, is: "store lost", for: lost },
    ];
    at += cut + lost + how.between(50_000, 70_000);
    return faults;
  }).flat();
}

/** An operator freezes evictions, or pauses a controller, before boards go dark, and then the leader changes. */
function heldSite(how: How): readonly Fault[] {
  const at = how.between(90_000, 130_000);
  const { name, zone } = how.one(how.setting.boards);
  const scopes = [{ scope: "site" }, { scope: "zone", target: zone }, { scope: "board", target: name }] as const;
  const what = how.happens(0.7)
    ? { freeze: how.one(scopes) }
    : { pause: how.one(["taint-eviction", "node-lifecycle"]) };
  const length = how.between(60_000, Math.max(60_000, how.calmAt - at));
  const changes = Array.from({ length: how.between(1, 3) }, () => restart(at + how.between(20_000, 200_000), how));
  return [
    { at, is: "hold", what, for: length, takenBack: how.happens(0.5) },
    powerCut(at + how.between(-60_000, 60_000), name, how),
    ...changes,
  ];
}

/**
 * The LAN of the leader, of all boards, or of one board since the beginning is cut, and boards lose their links to the
 * API server meanwhile, for longer than a grace period; sometimes one of them dies.
 */
function brokenLan(how: How): readonly Fault[] {
  const { boards } = how.setting;
  const at = how.between(100_000, 160_000);
  const length = how.between(60_000, 160_000);
  const healing = how.one(["late", "reset"] as const);
  const first = how.between(0, boards.length - 1);
  const cut = boards.slice(first, first + how.between(1, 2)).map(({ name }) => name);
  const [board = ""] = cut;
  const where = how.one(["leader", "every", "always"] as const);
  const lan: Fault =
    where === "always"
      ? { at: 0, is: "LAN cut", board, for: undefined }
      : { at: at - how.between(0, 40_000), is: "LAN cut", board: where, for: length + how.between(20_000, 80_000) };
  return [
    lan,
    ...cut.map((one): Fault => ({ at, is: "cut", board: one, lane: "both", how: "silent", for: length, healing })),
    ...(how.happens(0.3) ? [powerCut(at + how.between(40_000, 200_000), board, how)] : []),
  ];
}

/** A board gets another address on the LAN shortly before it loses its link to the API server, or meanwhile. */
function movedBoard(how: How): readonly Fault[] {
  const { name: board } = how.one(how.setting.boards);
  const at = how.between(100_000, 160_000);
  const length = how.between(60_000, 300_000);
  return [
    { at: at + how.between(-20_000, 60_000), is: "new address", board },
    { at, is: "cut", board, lane: "both", how: "silent", for: length, healing: how.one(["late", "reset"] as const) },
  ];
}

/** A board loses its link to the API server, and once it has answered on the LAN, its Wi-Fi loses datagrams. */
function lossyLan(how: How): readonly Fault[] {
  const at = how.between(90_000, 110_000);
  const length = how.calmAt - at;
  const healing = how.one(["late", "reset"] as const);
  const board = "follower";
  return [
    { at, is: "cut", board, lane: "both", how: "silent", for: length, healing },
    { at: at + 45_000, is: "LAN lossy", board, share: 0.4, seed: how.between(1, 1_000_000), for: length },
  ];
}

/** A board is restarted again and again, and its kubelet does not start any more. */
function deadKubelet(how: How): readonly Fault[] {
  const { name: board } = how.one(how.setting.boards);
  const dies = how.between(90_000, 110_000);
  const faults: Fault[] = [{ at: dies, is: "kubelet dead", board }];
  for (let at = dies + 10_000; at < how.calmAt; at += how.between(30_000, 70_000)) {
    const length = how.between(5000, 20_000);
    faults.push({ at, is: "power cut", board, for: length, cache: "none", wakesIn: undefined });
  }
  return faults;
}

/**
 * An operator confirms that a board without power is dead, and at about that time the leader changes or loses its link, the
 * store is restored, or the board gets its power back.
 */
function confirmedBoard(how: How): readonly Fault[] {
  const dies = how.between(90_000, 150_000);
  const { name: board } = how.one(how.setting.boards);
  const at = dies + how.between(45_000, 150_000);
  const back = how.happens(0.7) ? at - dies + how.between(500, 40_000) : undefined;
  const nearby = (): number => at + how.between(-3000, 8000);
  const healing = how.one(["late", "reset"] as const);
  const what = how.one(["restart", "cut", "power", "pause", "stall", "slow", "restore", "nothing"] as const);
  const troubles: Record<typeof what, () => readonly Fault[]> = {
    restart: () => [restart(nearby(), how)],
    cut: () => [
      {
        at: nearby(),
        is: "cut",
        board: "leader",
        lane: "agent",
        how: "silent",
        for: how.between(5000, 90_000),
        healing,
      },
    ],
    power: () => [{ ...powerCut(nearby(), "leader", how), for: how.between(5000, 60_000) } as Fault],
    pause: () => [
      { at: nearby(), is: "pause", board: "leader", for: how.between(2000, 60_000), waking: "answers first" },
    ],
    stall: () => [
      { at: nearby(), is: "watches stalled", board: "leader", lane: "agent", for: how.between(5000, 80_000), healing },
    ],
    slow: () => [
      { at: nearby(), is: "slow", board: "leader", lane: "agent", delay: how.one([300, 2000]), for: 60_000 },
    ],
    restore: () => [
      { at: nearby(), is: "api restored", age: how.between(500, 60_000), for: how.between(500, 20_000), how: "crash" },
    ],
    nothing: () => [],
  };
  return [
    {
      at: dies,
      is: "power cut",
      board,
      for: back,
      cache: how.one(["none", "recent", "all"] as const),
      wakesIn: undefined,
    },
    { at, is: "confirmed dead", board },
    ...troubles[what](),
  ];
}

/**
 * A board that was confirmed to be dead is repaired, and then the store is restored to the time before that, while the board
 * loses its link.
 */
function revivedConfirmation(how: How): readonly Fault[] {
  const dies = how.between(90_000, 120_000);
  const { name: board } = how.one(how.setting.boards);
  const at = dies + how.between(60_000, 90_000);
  const back = at + how.between(15_000, 40_000);
  const restored = back + how.between(15_000, 60_000);
  const healing = how.one(["late", "reset"] as const);
  const length = how.between(60_000, 200_000);
  return [
    { at: dies, is: "power cut", board, for: back - dies, cache: "none", wakesIn: undefined },
    { at, is: "confirmed dead", board },
    { at: restored, is: "api restored", age: restored - at - how.between(3000, 14_000), for: 5000, how: "crash" },
    { at: restored + 1, is: "cut", board, lane: "both", how: "silent", for: length, healing },
    ...(how.happens(0.4) ? [restart(restored + how.between(0, 40_000), how)] : []),
  ];
}

/**
 * Harmful combinations of faults that rarely arise by chance. Each gets new random times, and is added to a schedule's
 * other faults.
 */
export const motifs = {
  "deaf leader": deafLeader,
  "dark zone": darkZone,
  "paused leader": pausedLeader,
  "cut leader": cutLeader,
  "slow comeback": slowComeback,
  "forgetful API": forgetfulApi,
  "restored API": restoredApi,
  "lost Lease": lostLease,
  "flapping board": flappingBoard,
  "held site": heldSite,
  "cut board": cutBoard,
  "broken LAN": brokenLan,
  "lossy LAN": lossyLan,
  "moved board": movedBoard,
  "flapping site": flappingSite,
  "unheard site": unheardSite,
  "dead kubelet": deadKubelet,
  "refused heartbeats": refusedHeartbeats,
  "confirmed board": confirmedBoard,
  "revived confirmation": revivedConfirmation,
} as const satisfies Record<string, (how: How) => readonly Fault[]>;

export type Motif = keyof typeof motifs;

/**
 * Drawn apart ("cut board", "broken LAN" and "moved board" where there is a LAN, "flapping site", "confirmed board" and "revived confirmation"), or played only if a
 * wish names them.
 */
const apart: readonly Motif[] = [
  "cut board",
  "broken LAN",
  "lossy LAN",
  "moved board",
  "flapping site",
  "unheard site",
  "dead kubelet",
  "refused heartbeats",
  "confirmed board",
  "revived confirmation",
];

/** The motifs among which a schedule draws. */
export const commonMotifs: readonly Motif[] = (Object.keys(motifs) as Motif[]).filter((name) => !apart.includes(name));

export const isMotif = (name: string | undefined): name is Motif => name !== undefined && Object.hasOwn(motifs, name);
