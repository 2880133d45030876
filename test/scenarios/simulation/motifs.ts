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

/** Mostly not the one that leads. */
const bystander = ({ one, setting }: How): string => one(["follower", "follower", one(setting.boards).name]);

/** Its watches say nothing any more, and meanwhile a board dies. */
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

/** Boards of one zone go dark together, and the lead changes hands while they wait for their turns. */
function darkZone(how: How): readonly Fault[] {
  const { boards } = how.setting;
  const at = how.between(90_000, 120_000);
  const { zone } = how.one(boards);
  const dark = boards.filter((board) => board.zone === zone).slice(0, how.between(1, 3));
  const changes = Array.from({ length: how.between(1, 4) }, () => restart(at + how.between(50_000, 200_000), how));
  return [...dark.map(({ name }) => powerCut(at + how.between(0, 3000), name, how)), ...changes];
}

/**
 * For about as long as its Lease lasts, while it gives up a board and its pods over a slow link: it wakes up just before or
 * just after somebody else leads, and the answers come that it was waiting for.
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

/** What it sends arrives late or never, and it does not know. */
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

/** Watches that were silent for less than anybody notices go on, and what was held up comes piece by piece. */
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

/** The API server's store is restored from a backup, while agents come and go, and a board is dark in one of the two histories. */
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

/** Somebody deletes the Lease while agents come and go. */
function lostLease(how: How): readonly Fault[] {
  const at = how.between(90_000, 200_000);
  const { name } = how.one(how.setting.boards);
  return [
    { at, is: "lease deleted" },
    { ...restart(at + how.between(-20_000, 20_000), how), ...(how.happens(0.5) && { board: name }) },
    restart(at + how.between(0, 90_000), how),
  ];
}

/** Now it is there, now it is not. */
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

/** An operator freezes evictions, or pauses a controller, before boards go dark, and the lead changes hands meanwhile. */
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
 * Troubles that seldom come together by chance, and hurt when they do. Each is told with its times drawn anew; whatever else
 * goes wrong in a schedule comes on top.
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
} as const satisfies Record<string, (how: How) => readonly Fault[]>;

export type Motif = keyof typeof motifs;

export const isMotif = (name: string | undefined): name is Motif => name !== undefined && Object.hasOwn(motifs, name);
