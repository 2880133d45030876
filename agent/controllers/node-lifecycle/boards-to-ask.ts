import { elapsed, type Instant } from "../../base/clock.ts";
import type { Link } from "../../judgement/link.ts";
import { graceOf, missedNow, silentSince } from "./health.ts";
import type { SiteMemory } from "./memory.ts";
import type { NodeLifecycleSettings } from "./settings.ts";

/**
 * The boards that are asked on the LAN: those that have been silent for half of their grace period or longer, those
 * that missed a respite, and those that a leader has marked as silent. After an outage the grace period of the last
 * begins anew, but they are asked all the time, so that their answers before it are not forgotten. Undefined while our
 * own view of the API is not live, because it is then unknown which boards are silent.
 */
export function boardsToAsk(
  { boards }: Pick<SiteMemory, "boards">,
  { link, settings }: { readonly link: Link; readonly settings: NodeLifecycleSettings },
  now: Instant,
): readonly string[] | undefined {
  if (!link.live) return undefined;
  const names: string[] = [];
  for (const [name, { health }] of boards) {
    if (name === settings.ownNode) continue;
    const grace = graceOf(health.ready !== undefined, settings);
    // A board that missed a respite is judged after a quarter of a grace period, so it is asked immediately.
    const isAsked =
      health.ready?.isUnknown === true ||
      missedNow(health, link) !== undefined ||
      elapsed(silentSince(health, link), now) >= grace / 2;
    if (isAsked) names.push(name);
  }
  return names;
}
