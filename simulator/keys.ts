import { boardsNamed } from "./scenarios/claims.ts";
import type { Deed, ScenarioVerb } from "./scenarios/scenario.ts";
import type { SitePicture } from "./view/site-picture.ts";

/** What a key triggers. */
export type Wish =
  | { readonly do: "select"; readonly board: string }
  | { readonly do: "perform"; readonly deed: Deed; readonly boards: readonly string[]; readonly said: string }
  | { readonly do: "end" };

/** The keys and their actions, for the line below the table. */
export const keyHelp =
  "up/down: board  c: cut its link  p: its power  z: cut its zone  l: kill the leader  a: restart the API  q: end";

const up = ["\u001b[A", "k"];
const down = ["\u001b[B", "j"];
const interrupt = "\u0003";

/**
 * What a key does to the site as shown; pressing the key again undoes it. Undefined if the key has no meaning, or has
 * nothing to act on.
 */
export function wishOf(key: string, picture: SitePicture, selected: string | undefined): Wish | undefined {
  const names = picture.boards.map(({ name }) => name);
  const at = selected === undefined ? 0 : Math.max(0, names.indexOf(selected));
  const board = picture.boards[at];
  if (key === "q" || key === interrupt) return { do: "end" };
  if (key === "a") return perform("restart", ["api"], []);
  if (key === "l") {
    const leader = boardsNamed(["leader"], picture, []);
    return leader.length === 0 ? undefined : perform("power-off", leader, leader);
  }
  if (board === undefined) return undefined;
  if (up.includes(key)) return { do: "select", board: names[at - 1] ?? board.name };
  if (down.includes(key)) return { do: "select", board: names[at + 1] ?? board.name };
  if (key === "c") return perform(board.link === "up" ? "cut" : "restore", [board.name], [board.name]);
  if (key === "p") return perform(board.power === "on" ? "power-off" : "power-on", [board.name], [board.name]);
  if (key === "z") {
    const inZone = picture.boards.filter(({ zone }) => zone === board.zone);
    const verb = inZone.some(({ link }) => link === "up") ? "cut" : "restore";
    return perform(
      verb,
      [board.zone],
      inZone.map(({ name }) => name),
    );
  }
  return undefined;
}

const perform = (verb: ScenarioVerb, targets: readonly string[], boards: readonly string[]): Wish => ({
  do: "perform",
  deed: { verb, targets, delay: 0, down: 0, up: 0, for: 3000, how: "silent" },
  boards,
  said: `do ${verb} ${targets.join(" ")}`,
});
