import type { Node, Pod, Toleration } from "../../agent/api/core.ts";
import { tolerates } from "../../agent/api/taints.ts";
import type { ApiRequest } from "../../simulator/site-api/requests/exchange.ts";

/** The agent's request, by the server's verbs. */
export interface Asked {
  readonly does: "list" | "watch" | "write" | "other";
  readonly resource: string;
}

const collections: Readonly<Record<string, string>> = {
  "/api/v1/nodes": "nodes",
  "/api/v1/pods": "pods",
  "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases": "leases",
};

export function asked({ method, path }: ApiRequest): Asked {
  const [at = "", query = ""] = path.split("?");
  const resource = collections[at];
  if (method !== "GET") return { does: "write", resource: at };
  if (resource === undefined) return { does: "other", resource: at };
  return { does: /\bwatch=(true|1)/.test(query) ? "watch" : "list", resource };
}

interface Spell {
  readonly node: string;
  readonly taint: { readonly key: string; readonly value?: string; readonly effect: string };
  readonly from: number;
  until: number | undefined;
}

/** A decision may be in transit while its reason disappears. */
const underWay = 1000;
/** Milliseconds from the answer to a renewal until its proof is in the file. */
const untilStored = 500;
/** Timestamps are whole seconds, and timers fire slightly early. */
const early = 150;

/**
 * The server's record of an agent over all its processes: unnecessary lists, repeated acts, and acts without a reason.
 */
export class Ledger {
  readonly problems: string[] = [];
  readonly #owed = new Set(Object.values(collections));
  /** Each list, with the first renewal of the site's Lease after it. */
  readonly #unproven = new Map<string, number | undefined>();
  readonly #deleted = new Map<string, string>();
  #spells: Spell[] = [];
  counts = { lists: 0, refused: 0, watches: 0, probes: 0, deletions: 0, taints: 0, repeats: 0, conflicts: 0 };

  /**
   * A list is necessary if the cache was never filled, if the server lost the history of its position, or if the power was cut
   * before a renewal of the Lease confirmed the last list.
   */
  list(resource: string, path: string): void {
    if (/[?&]continue=/.test(path)) return;
    if (/[?&]limit=1\b/.test(path)) {
      this.counts.probes++;
      return;
    }
    this.counts.lists++;
    if (!this.#owed.has(resource)) this.problems.push(`${resource} were listed without need: ${path}`);
  }

  /** An opened watch shows that the list before it was stored. */
  watch(resource: string): void {
    this.counts.watches++;
    if (this.#owed.delete(resource)) this.#unproven.set(resource, undefined);
  }

  /** A renewal of the Lease confirms the lists before it. */
  renewed(now: number): void {
    for (const [resource, since] of this.#unproven) this.#unproven.set(resource, since ?? now);
  }

  /** The power was cut. */
  cut(now: number): void {
    for (const [resource, since] of this.#unproven)
      if (since === undefined || now - since < untilStored) this.#owed.add(resource);
    this.#unproven.clear();
  }

  /** The server lost the state at the Lease write that a board knows, so nothing is confirmed. */
  forgotten(): void {
    for (const resource of Object.values(collections)) this.#owed.add(resource);
  }

  refused(resource: string): void {
    this.counts.refused++;
    this.#owed.add(resource);
  }

  conflict(): void {
    this.counts.conflicts++;
  }

  /** A deletion of a pod that the server accepted. */
  deletion(pod: Pod, options: string | undefined, now: number): void {
    const { name, uid, deletionTimestamp } = pod.metadata;
    this.counts.deletions++;
    if (!options?.includes(`"uid":"${uid}"`)) this.problems.push(`pod ${name} was deleted without a uid: ${options}`);
    const before = this.#deleted.get(uid);
    if (before !== undefined)
      this.problems.push(`pod ${name} (${uid}) was deleted twice: ${before} and at ${Math.round(now)}`);
    else if (deletionTimestamp === undefined && !this.#isDue(pod, now)) {
      this.problems.push(`pod ${name} was deleted at ${Math.round(now)}, ${this.#why(pod, now)}`);
    }
    this.#deleted.set(uid, `at ${Math.round(now)}`);
  }

  /** A write to a Node that the server accepted. */
  nodeWrite(before: Node, after: Node): void {
    if (before.metadata.resourceVersion === after.metadata.resourceVersion) this.counts.repeats++;
    else this.counts.taints++;
  }

  /** The new state of a Node; undefined if it was deleted. */
  board(name: string, node: Node | undefined, now: number): void {
    const taints = (node?.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
    for (const spell of this.#spells) {
      const goesOn = taints.some(({ key }) => key === spell.taint.key);
      if (spell.node === name && spell.until === undefined && !goesOn) spell.until = now;
    }
    for (const taint of taints) {
      const known = this.#spells.some(
        (spell) => spell.node === name && spell.until === undefined && spell.taint.key === taint.key,
      );
      if (!known) this.#spells.push({ node: name, taint, from: now, until: undefined });
    }
    this.#spells = this.#spells.filter(({ until }) => until === undefined || now - until < 60_000);
  }

  /** Pods that should have been deleted long ago. */
  overdue(pods: readonly Pod[], now: number, late: number): readonly string[] {
    return pods
      .filter((pod) => pod.metadata.deletionTimestamp === undefined && this.#isDue(pod, now - late, now))
      .map(({ metadata: { name } }) => `pod ${name} should have been deleted ${late} ms ago`);
  }

  #isDue(pod: Pod, now: number, still = now - underWay): boolean {
    const spells = this.#spells.filter(({ node }) => node === pod.spec?.nodeName);
    return spells.some((spell) => {
      const length = allowed(pod.spec?.tolerations, spell.taint);
      if (spell.until !== undefined && spell.until <= still) return false;
      return now - begun(spells, spell.from) >= length - early;
    });
  }

  #why(pod: Pod, now: number): string {
    const reasons = this.#spells
      .filter(({ node }) => node === pod.spec?.nodeName)
      .map(({ taint, from, until }) => {
        const end = until === undefined ? "still there" : `gone ${Math.round(now - until)} ms ago`;
        return `${taint.key} for ${Math.round((until ?? now) - from)} ms, ${end}, tolerated for ${allowed(pod.spec?.tolerations, taint)} ms`;
      });
    return reasons.length === 0 ? "and its board has no such taint" : reasons.join("; ");
  }
}

/** A window lasts from one taint to the next as long as one of them exists. */
function begun(spells: readonly Spell[], from: number): number {
  const earlier = spells.find((spell) => spell.from < from && (spell.until ?? from) >= from);
  return earlier === undefined ? from : begun(spells, earlier.from);
}

function allowed(tolerations: readonly Toleration[] = [], taint: Spell["taint"]): number {
  const matching = tolerations.find((toleration) => tolerates(toleration, { ...taint, effect: "NoExecute" }));
  if (matching === undefined) return 0;
  return matching.tolerationSeconds === undefined ? Number.POSITIVE_INFINITY : matching.tolerationSeconds * 1000;
}
