import type { Lease, Node } from "../api/core.ts";
import { leases, nodes } from "../api/resources.ts";
import { microTimestamp } from "../api/timestamps.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";
import { isNotFound, isOvertaken } from "../client/api-error.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { countersAnnotation, LeaseLock } from "../election/lease-lock.ts";
import type { LeaseRecord } from "../election/lease-rules.ts";
import type { Lister } from "../informer/lister.ts";
import { SiteClaims } from "../site/site-claims.ts";
import { siteAnnotations, siteLabels } from "../site/site-lease.ts";
import {
  isNothing,
  type Leaving,
  leavingOf,
  leavingText,
  metadataPatch,
  ownPrefix,
  statusPatch,
} from "./released-node.ts";

export interface SiteReleaseParts {
  readonly client: KubeClient;
  readonly site: { readonly name: string; readonly nodeSelector: string | undefined };
  readonly namespace: string;
  /** Namespaces whose Leases count as those of sites. */
  readonly leaseNamespaces: readonly string[];
  /** Holder of the site's Lease during the release. */
  readonly identity: string;
  readonly dryRun: boolean;
  /** Prints one line per change made, or to be made. */
  readonly tell: (line: string) => void;
}

export interface Released {
  readonly nodes: number;
  readonly changed: number;
}

/** An operator has to act first. */
class ReleaseError extends Error implements HasDisposition {
  override readonly name = "ReleaseError";
  readonly disposition = "exit";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/**
 * Lease duration in seconds, longer than the renewal interval below; an interrupted run blocks the next one for this
 * long.
 */
const heldFor = 30;
const renewEvery: Millis = 8_000;
const look: Millis = 1_000;
/** Kubelets and others change Nodes all the time, so conflicts are normal. */
const mostTries = 6;
const pageSize = 100;

/**
 * Hands a site over to its next judge. Holds the Lease while it changes the Nodes, so that an agent still running
 * cannot undo that; at the end releases it, without its claim on the boards. Idempotent: an interrupted run is simply
 * repeated.
 */
export class SiteRelease {
  readonly #ambient: Ambient;
  readonly #parts: SiteReleaseParts;
  readonly #lock: LeaseLock;
  readonly #at: { readonly namespace: string; readonly name: string };
  #held: LeaseRecord | undefined;
  #renewed: Instant | undefined;

  constructor(ambient: Ambient, parts: SiteReleaseParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    const { client, site, namespace } = parts;
    this.#at = { namespace, name: `siteward-${site.name}` };
    this.#lock = new LeaseLock({
      client,
      at: this.#at,
      labels: siteLabels(site.name),
      annotations: siteAnnotations(site),
    });
  }

  async run(signal: AbortSignal): Promise<Released> {
    const { dryRun } = this.#parts;
    const record = await this.#unheld(signal);
    if (record && !dryRun) await this.#take(record, signal);
    const done = await this.#nodes(signal);
    if (record) await this.#giveBack(signal);
    return done;
  }

  /** Returns the Lease once it is certain that no agent leads; undefined: there is none. */
  async #unheld(signal: AbortSignal): Promise<LeaseRecord | undefined> {
    const { clock } = this.#ambient;
    const first = await this.#lock.read(signal);
    if (first === undefined || first.holder === "") return first;
    const limit = Math.min(first.durationSeconds ?? heldFor, 3600) * 1000;
    this.#parts.tell(`${first.holder} held the site's Lease last; waiting until it is sure that nobody renews it`);
    const begun = clock.now();
    for (;;) {
      await sleep(clock, look, signal);
      signal.throwIfAborted();
      const now = await this.#lock.read(signal);
      if (now === undefined || now.holder === "") return now;
      if (now.renewal !== first.renewal || now.holder !== first.holder)
        throw new ReleaseError(
          `${now.holder} leads the site`,
          "Stop the agents of all its boards first: systemctl disable --now siteward",
        );
      if (elapsed(begun, clock.now()) > limit) return now;
    }
  }

  async #take(record: LeaseRecord, signal: AbortSignal): Promise<void> {
    const now = this.#ambient.clock.now();
    const claim = { holder: this.#parts.identity, durationSeconds: heldFor, term: record.transitions + 1 };
    try {
      this.#held = await this.#lock.take(record, claim, now, { signal });
    } catch (error) {
      if (!isOvertaken(error)) throw error;
      throw new ReleaseError("somebody else took the site's Lease just now", "Stop the agents of all boards first.");
    }
    this.#renewed = now;
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const now = this.#ambient.clock.now();
    if (!this.#held || !this.#renewed || elapsed(this.#renewed, now) < renewEvery) return;
    this.#held = await this.#lock.renew(this.#held, { durationSeconds: heldFor, carried: {} }, now, { signal });
    this.#renewed = now;
  }

  async #nodes(signal: AbortSignal): Promise<Released> {
    const { client, site, leaseNamespaces } = this.#parts;
    const claims = new SiteClaims(this.#ambient, {
      client,
      at: this.#at,
      leaseNamespaces,
      boards: nobody,
      namespaces: "none",
      period: 0,
      changed: () => undefined,
    });
    await claims.learn(signal);
    const names: string[] = [];
    let seen = 0;
    for (let page: string | undefined = ""; page !== undefined; ) {
      const result: { readonly continue: string | undefined } = await client.list(
        nodes,
        { labelSelector: site.nodeSelector, limit: pageSize, continue: page },
        (node) => {
          // Boards claimed by an older site carry that site's taints.
          if (claims.claimant(node.metadata.labels) !== undefined) return;
          seen++;
          if (!isNothing(leavingOf(node))) names.push(node.metadata.name);
        },
        signal,
      );
      page = result.continue;
    }
    let changed = 0;
    for (const name of names) {
      await this.#renew(signal);
      if (await this.#clean(name, signal)) changed++;
    }
    return { nodes: seen, changed };
  }

  /** Returns whether anything was removed, or would be. */
  async #clean(name: string, signal: AbortSignal): Promise<boolean> {
    const { client, dryRun, tell } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        const node = await client.get<Node>(nodes, { name }, signal);
        const leaving = leavingOf(node);
        if (isNothing(leaving)) return false;
        if (!dryRun) await this.#write(node, leaving, signal);
        tell(`node ${name}: ${dryRun ? "would remove" : "removed"} ${leavingText(leaving)}`);
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        if (!isOvertaken(error) || tries >= mostTries) throw error;
      }
    }
  }

  async #write(node: Node, leaving: Leaving, signal: AbortSignal): Promise<void> {
    const { client } = this.#parts;
    const { name } = node.metadata;
    const write = { signal, metadataOnly: true };
    if (leaving.conditions.length > 0)
      await client.patch<Node>(nodes, { name, subresource: "status" }, "strategic", statusPatch(node, leaving), write);
    if (leaving.taints.length + leaving.annotations.length === 0) return;
    // The first write changed the resourceVersion; read again, or the second write would undo concurrent changes.
    const current = leaving.conditions.length > 0 ? await client.get<Node>(nodes, { name }, signal) : node;
    await client.patch<Node>(nodes, { name }, "merge", metadataPatch(current, leavingOf(current)), write);
  }

  /**
   * Removes the claim with selector and labels. The Lease itself stays, so that terms keep counting, and no signed
   * command is accepted twice if the site comes back.
   */
  async #giveBack(signal: AbortSignal): Promise<void> {
    const { client, dryRun, tell } = this.#parts;
    const place = `${this.#at.namespace}/${this.#at.name}`;
    if (dryRun) {
      tell(`lease ${place}: would be released, with its claim on the boards`);
      return;
    }
    const held = await this.#lock.read(signal);
    if (held === undefined || held.holder !== this.#parts.identity)
      throw new ReleaseError(
        `${held?.holder || "somebody"} took the site's Lease meanwhile`,
        "Stop the agents of all its boards, and run this again.",
      );
    const gone = (names: readonly string[]): object => Object.fromEntries(names.map((name) => [name, null]));
    const time = microTimestamp(this.#ambient.clock.now());
    const patch = {
      metadata: {
        uid: held.uid,
        resourceVersion: held.resourceVersion,
        annotations: gone(Object.keys(held.annotations).filter(isReleased)),
        labels: gone(Object.keys(siteLabels(this.#parts.site.name))),
      },
      spec: { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: time, renewTime: time },
    };
    await client.patch<Lease>(leases, this.#at, "merge", patch, { signal, metadataOnly: true });
    tell(`lease ${place}: released, and its claim on the boards with it`);
  }
}

const isReleased = (annotation: string): boolean =>
  annotation.startsWith(ownPrefix) && annotation !== countersAnnotation;

/** An empty lister: overlaps of boards between sites do not matter here. */
const nobody: Lister<Node> = {
  get: () => undefined,
  list: () => [].values(),
  byIndex: () => [].values(),
  indexValues: () => [].values(),
  countByIndex: () => 0,
  size: 0,
};
