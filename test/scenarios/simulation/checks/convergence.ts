import type { Millis } from "../../../../agent/base/clock.ts";
import type { History } from "../history.ts";
import { isMovable, tolerances } from "../pod-keeper.ts";
import { nodeOf } from "../recorder.ts";
import type { SimBoard } from "../sim-board.ts";
import type { Site } from "../site.ts";
import { judging } from "../site-config.ts";
import { lifecycleTaints } from "./acts.ts";
import { isStanding } from "./confirmed.ts";
import { termsOf } from "./terms.ts";

const unreachable = "node.kubernetes.io/unreachable";

/** The longest time from the last fault until the site must have converged. */
export function timeToConverge({ boards, timing, lan }: History["setting"]): Millis {
  // At most half of a site's boards are dark, and they wait for their tokens one after another.
  const turns = (Math.min(boards.length, 4) + 1) / judging.secondaryRate;
  const election = 2 * timing.duration + timing.retry + timing.renewDeadline;
  const listening = 90_000;
  const eviction = 60_000 + 10_000;
  const held = lan === "none" ? 0 : judging.unprovenHold + judging.zoneHold;
  return election + listening + held + 2 * judging.gracePeriod + 1000 * turns + eviction;
}

/** Checks the state that a site must have long after the last fault. Reads only the API server. */
export function checkConverged(site: Site): readonly string[] {
  const wrong: string[] = [];
  const partial = partialZones(site);
  for (const board of site.boards) {
    const text = site.api.stored(`nodes/${board.plate.name}`);
    // A board that went dark before it registered does not count.
    if (text === undefined) {
      if (board.isOn) wrong.push(`converged: ${board.plate.name} has no Node`);
      continue;
    }
    // A leader does not harm its own board, also when it has no kubelet.
    if (board.isOn && !board.isManaged && site.leader === board) continue;
    const { ready, taints } = nodeOf(text, 0);
    const seen = `Ready=${ready}, taints ${taints.join(" ") || "none"}`;
    if (board.isManaged) {
      if (ready !== "True" || taints.length > 0) wrong.push(`converged: ${board.plate.name} lives: ${seen}`);
    } else {
      const must = [
        `${unreachable}:NoSchedule`,
        ...(partial.has(board.plate.zone) ? [] : [`${unreachable}:NoExecute`]),
      ];
      if (ready !== "Unknown" || must.some((taint) => !taints.includes(taint))) {
        wrong.push(`converged: ${board.plate.name} is dark: ${seen}`);
      }
    }
    wrong.push(...checkPods(site, board, taints));
  }
  return [...wrong, ...checkLeader(site)];
}

/** Zones with so many dark boards that no further one is tainted. */
function partialZones({ boards, recorder }: Site): ReadonlySet<string> {
  const { policy } = recorder.history.setting;
  const partial = new Set<string>();
  for (const zone of new Set(boards.map(({ plate }) => plate.zone))) {
    const all = boards.filter(({ plate }) => plate.zone === zone);
    const dark = all.filter(({ isManaged }) => !isManaged).length;
    if (dark === all.length) continue;
    const small = policy === "evidence" && (all.length === 3 || all.length === 4);
    if (small ? dark >= 2 : dark > 2 && dark / all.length >= 0.55) partial.add(zone);
  }
  return partial;
}

function checkPods(
  { api, recorder }: Site,
  { plate, isManaged }: SimBoard,
  taints: readonly string[],
): readonly string[] {
  const isTainted = taints.some((taint) => lifecycleTaints.includes(taint));
  const { setting, confirmations } = recorder.history;
  return Object.entries(tolerances).flatMap(([kind, seconds]) => {
    const name = `${kind}-${plate.name}`;
    const text = api.stored(`pods/default/${name}`);
    const { metadata, status } = text === undefined ? {} : JSON.parse(text);
    const isDeleted = metadata === undefined || metadata.deletionTimestamp !== undefined;
    if (!isManaged && confirmations.some(({ board }) => board === plate.name)) {
      const isOver = metadata === undefined || !isStanding(recorder.history, plate.name);
      return isOver ? [] : [`converged: ${name} is still there, although its board was confirmed to be dead`];
    }
    const isReady = status?.conditions?.some(
      (one: { type: string; status: string }) => one.type === "Ready" && one.status === "True",
    );
    if (isManaged && (isDeleted || !isReady)) return [`converged: ${name} does not run`];
    const isKept = setting.policy === "evidence" && !isMovable(name, setting);
    // The judge of a calm site deletes no pod that stays, but an earlier one, with another view of the boards, may have.
    if (!isManaged && isTainted && isDeleted !== (seconds !== undefined) && !isKept) {
      return [`converged: ${name} is ${isDeleted ? "" : "not "}deleted`];
    }
    return [];
  });
}

function checkLeader({ recorder, time, boards }: Site): readonly string[] {
  const { history } = recorder;
  const term = termsOf(history).at(-1);
  const holder = boards.find(({ agent }) => agent?.process.id === term?.process);
  if (term === undefined || holder === undefined) return ["converged: there is no leader"];
  const silentFor = time.now - term.renewed.sentAt;
  if (silentFor > history.setting.timing.renewDeadline) {
    return [`converged: ${term.board} leads and has not renewed for ${silentFor / 1000}s`];
  }
  const controllers = holder.agent?.agent.parts(holder.agent.process.now()).controllers ?? [];
  const busy = controllers.filter(({ queue }) => queue > 0).map(({ name }) => name);
  return [
    ...(controllers.length === 0 ? [`converged: ${term.board} leads without controllers`] : []),
    ...busy.map((name) => `converged: ${name} on ${term.board} still has work`),
  ];
}
