import { type Millis, sleep } from "../../base/clock.ts";
import { isRecord } from "../../base/json.ts";
import { boardOf } from "../../board/identity.ts";
import type { Status } from "../../status/schema.ts";
import type { ApiProbe } from "../api-probe.ts";
import { type CheckResult, fail, ok, skip, unreached, warn } from "../check-result.ts";
import { configOf, type Patient } from "../patient.ts";

/** One observation of the site's Lease. */
export interface ObservedLease {
  /** The holder's identity; "" if there is no holder. */
  readonly holder: string;
  /** The number of changes of the holder, which is the term. */
  readonly transitions: number;
  readonly renewTime: string;
}

/** The number of times the Lease is read. */
const readings = 8;
/**
 * Bounds of the time over which the Lease is read, because two competing processes both write within their retry
 * period.
 */
const maxWatchDuration: Millis = 16_000;
const minWatchDuration: Millis = 2_000;

/** Checks whether two processes take turns leading the site, or share one identity. */
export async function leaseConflict(patient: Patient): Promise<CheckResult> {
  const { api, status, ambient, signal } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  const { leader, site } = config;
  const path = `/apis/coordination.k8s.io/v1/namespaces/${leader.namespace}/leases/siteward-${site.name}`;
  const period = Math.max(minWatchDuration, Math.min(1.5 * leader.retry, maxWatchDuration)) / (readings - 1);
  const seen: ObservedLease[] = [];
  try {
    for (let reading = 0; reading < readings && !signal.aborted; reading++) {
      if (reading > 0) await sleep(ambient.clock, period, signal);
      const lease = await readLease(api, path);
      if (typeof lease === "string") return skip(lease);
      if (lease !== undefined) seen.push(lease);
    }
  } catch {
    return unreached;
  }
  return checkConflict(seen, status?.isFresh ? status.status : undefined, site.name);
}

/** The Lease, or the reason why it cannot be read; undefined if there is no Lease. */
async function readLease(api: ApiProbe, path: string): Promise<ObservedLease | string | undefined> {
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
  "Look for a copy of this board's card, or for a second agent on this board. Restart the agent on one of the two boards.";

/**
 * `seen`: observations of the Lease of `site`, in order. The identity in the status is that of the running agent, which
 * may still use the names from before an enrolment.
 */
export function checkConflict(seen: readonly ObservedLease[], status: Status | undefined, site: string): CheckResult {
  const collision = status?.health.conditions.find(({ type }) => type === "IdentityCollision");
  if (collision) return fail(collision.message, collision.hint ?? namesakeHint);
  const held = seen.filter(({ holder }) => holder !== "");
  const changes = held.filter(({ holder }, at) => at > 0 && holder !== held[at - 1]?.holder).length;
  const holders = [...new Set(held.map(({ holder }) => holder))];
  const named = holders.join(" and ");
  if (changes >= 2) {
    const [one = "", two = ""] = holders.map(boardOf);
    return fail(
      `${named} keep taking the site's Lease from each other: it changed hands ${changes} times during this check`,
      one === two
        ? namesakeHint
        : `Compare the clocks and leader.* of ${one} and ${two}: siteward config show on both.`,
    );
  }
  const last = held.at(-1);
  if (last === undefined)
    return warn("no board holds the site's Lease", "Run siteward status on the boards of the site.");
  const leads = status?.leader?.role === "leader" ? status.identity : undefined;
  if (leads?.site === site && boardOf(last.holder) !== leads.board && changes === 0)
    return fail(`the agent of this board reports that it leads, but the Lease names ${last.holder}`, namesakeHint);
  if (status !== undefined && isHeldByCopy(held, status, site))
    return fail(
      `another process with this board's name leads: ${last.holder} renews the Lease, and the agent of this board follows`,
      namesakeHint,
    );
  return ok(`${boardOf(last.holder)} leads, term ${last.transitions}`);
}

/**
 * Whether a process other than the running agent renewed the Lease under this board's name during the check. The status
 * must show the same term: otherwise the agent may have begun to lead since it was written.
 */
function isHeldByCopy(held: readonly ObservedLease[], { leader, identity }: Status, site: string): boolean {
  if (leader?.role !== "standby" || identity.site !== site || leader.holder !== identity.board) return false;
  const renewals = new Set(held.map(({ renewTime }) => renewTime));
  return (
    renewals.size > 1 &&
    held.every(({ holder, transitions }) => boardOf(holder) === identity.board && transitions === leader.term)
  );
}
