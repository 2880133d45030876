import { type Millis, sleep } from "../base/clock.ts";
import { isRecord } from "../base/json.ts";
import { boardOf } from "../board/identity.ts";
import type { Status } from "../status/schema.ts";
import type { ApiProbe } from "./api-probe.ts";
import { configOf, type Patient } from "./patient.ts";
import { fail, ok, skip, unreached, type Verdict, warn } from "./verdict.ts";

/** One observation of the site's Lease. */
export interface ObservedLease {
  /** "": no holder. */
  readonly holder: string;
  readonly transitions: number;
  readonly renewTime: string;
}

const looks = 8;
/** Two contenders for a Lease both show up within their retry period; nor should a doctor take longer. */
const longestWatch: Millis = 16_000;
const shortestWatch: Millis = 2_000;

/** Checks whether two processes take turns in leading the site, or share one identity. */
export async function leaseConflict(patient: Patient): Promise<Verdict> {
  const { api, status, ambient, signal } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  const { leader, site } = config;
  const path = `/apis/coordination.k8s.io/v1/namespaces/${leader.namespace}/leases/siteward-${site.name}`;
  const period = Math.max(shortestWatch, Math.min(1.5 * leader.retry, longestWatch)) / (looks - 1);
  const seen: ObservedLease[] = [];
  try {
    for (let look = 0; look < looks && !signal.aborted; look++) {
      if (look > 0) await sleep(ambient.clock, period, signal);
      const sight = await looked(api, path);
      if (typeof sight === "string") return skip(sight);
      if (sight !== undefined) seen.push(sight);
    }
  } catch {
    return unreached;
  }
  return conflictVerdict(seen, status?.isFresh ? status.status : undefined, site.name);
}

async function looked(api: ApiProbe, path: string): Promise<ObservedLease | string | undefined> {
  const { status, body } = await api.ask("GET", path);
  if (status === 404) return undefined;
  if (status !== 200) return `the site's Lease cannot be read (HTTP ${status})`;
  const spec = isRecord(body?.spec) ? body.spec : {};
  return {
    holder: typeof spec.holderIdentity === "string" ? spec.holderIdentity : "",
    transitions: typeof spec.leaseTransitions === "number" ? spec.leaseTransitions : 0,
    renewTime: typeof spec.renewTime === "string" ? spec.renewTime : "",
  };
}

const namesakeHint =
  "Look for a copy of this board's card, or a second agent on this board; restart the agent on one of the two.";

/**
 * `seen`: observations of `site`'s Lease, in order. The running agent may still use the board's names from before its
 * enrolment; compare it by those.
 */
export function conflictVerdict(seen: readonly ObservedLease[], status: Status | undefined, site: string): Verdict {
  const collision = status?.health.conditions.find(({ type }) => type === "IdentityCollision");
  if (collision) return fail(collision.message, collision.hint ?? namesakeHint);
  const held = seen.filter(({ holder }) => holder !== "");
  const changes = held.filter(({ holder }, at) => at > 0 && holder !== held[at - 1]?.holder).length;
  const holders = [...new Set(held.map(({ holder }) => holder))];
  const named = holders.join(" and ");
  if (changes >= 2) {
    const [one = "", two = ""] = holders.map(boardOf);
    return fail(
      `${named} take the site's Lease from each other: ${changes} times while this looked`,
      one === two
        ? namesakeHint
        : `Compare the clocks and leader.* of ${one} and ${two}: siteward config show on both.`,
    );
  }
  const last = held.at(-1);
  if (last === undefined) return warn("nobody holds the site's Lease", "siteward status on the boards of the site");
  const leads = status?.leader?.role === "leader" ? status.identity : undefined;
  if (leads?.site === site && boardOf(last.holder) !== leads.board && changes === 0)
    return fail(`this board leads by its own account, but the Lease names ${last.holder}`, namesakeHint);
  return ok(`${boardOf(last.holder)} leads, term ${last.transitions}`);
}
