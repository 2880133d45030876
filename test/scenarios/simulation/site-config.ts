import { type Config, settings } from "../../../agent/config/settings.ts";
import { defaultsOf, mergeTree, treeOf } from "../../../agent/config/values.ts";
import type { Board, Setting } from "./schedule.ts";

/**
 * The settings that differ from the defaults. Recovery is quicker, so that the calm at the end need not last an hour.
 */
export const judging = {
  gracePeriod: 50_000,
  startupGracePeriod: 60_000,
  monitorPeriod: 5000,
  secondaryRate: 0.02,
  recovery: 120_000,
  stall: 90_000,
  blip: 10_000,
  unprovenHold: 120_000,
  zoneHold: 100_000,
} as const;

export function configOf(
  board: Board,
  { policy, standby, followers, timing, selects, evictionRate, maxHarm, lan }: Setting,
): Config {
  const values = defaultsOf(settings);
  const ms = (time: number): string => `${time}ms`;
  const problems = mergeTree(
    values,
    settings,
    {
      board: { name: board.name, node: board.name },
      standby,
      leader: {
        followers,
        duration: ms(timing.duration),
        renewDeadline: ms(timing.renewDeadline),
        retry: ms(timing.retry),
      },
      judgement: {
        policy,
        recovery: ms(judging.recovery),
        witness: lan === "none" ? "off" : "lan",
        unprovenHold: ms(judging.unprovenHold),
        zoneHold: ms(judging.zoneHold),
      },
      link: { watchStall: ms(judging.stall), blip: ms(judging.blip) },
      nodeLifecycle: {
        gracePeriod: ms(judging.gracePeriod),
        startupGracePeriod: ms(judging.startupGracePeriod),
        monitorPeriod: ms(judging.monitorPeriod),
        evictionRate,
        secondaryRate: judging.secondaryRate,
      },
      ...(maxHarm !== undefined && { safety: { maxHarmPerHour: maxHarm } }),
      ...(selects && { site: { nodeSelector: "kubernetes.io/arch=arm64" } }),
    },
    { where: (path) => path.join(".") },
  );
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return treeOf(settings, values);
}
