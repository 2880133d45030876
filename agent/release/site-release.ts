import type { Lease, Node } from "../api/core.ts";
import { leases, nodes } from "../api/resources.ts";
import { microTimestamp } from "../api/timestamps.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";
import { isNotFound, isOvertaken } from "../client/api-error.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { LeaseLock } from "../election/lease-lock.ts";
import type { LeaseRecord } from "../election/lease-record.ts";
import type { Lister } from "../informer/lister.ts";
import { SiteClaims } from "../site/site-claims.ts";
import { countersAnnotation } from "../site/site-counters.ts";
import { siteAnnotations, siteLabels } from "../site/site-lease.ts";
import {
  isNothing,
  leavingOf,
  leavingText,
  metadataPatch,
  type NodeRemovals,
  ownPrefix,
  statusPatch,
} from "./released-node.ts";

export interface SiteReleaseDeps {
  readonly client: KubeClient;
  readonly site: { readonly name: string; readonly nodeSelector: string | undefined };
  readonly namespace: string;
  /** The namespaces that contain the Leases of sites. */
  readonly leaseNamespaces: readonly string[];
  /** The holder of the site's Lease during the release. */
  readonly identity: string;
  /** Whether the taints of silent boards are those of another controller, because siteward only judges in shadow mode. */
  readonly keepsTaints: boolean;
  /** Reports all changes without making them. */
  readonly dryRun: boolean;
  /** Prints a line about a change that was made, or would be. */
  readonly print: (line: string) => void;
}

export interface Released {
  /** The number of the site's Nodes. */
  readonly nodes: number;
  /** The number of Nodes from which something was removed, or would be. */
  readonly changed: number;
}

/** The site cannot be released until an operator acts. */
class ReleaseError extends Error implements HasDisposition {
  override readonly name = "ReleaseError";
  readonly disposition = "exit";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** Duration of the Lease in seconds. After an interrupted run, the next one waits for this long. */
const heldFor = 30;
const renewEvery: Millis = 8_000;
const readInterval: Millis = 1_000;
/** Maximum number of attempts to change a Node. Kubelets and others change Nodes often, so conflicts are normal. */
const maxTries = 6;
const pageSize = 100;

/**
 * Hands a site over to another controller: removes all that siteward wrote from its Nodes. It holds the Lease during
 * that time, so that a running agent cannot undo this. At the end, it releases the Lease and removes the claim on the
 * boards. An interrupted run can be repeated.
 */
export class SiteRelease {
  readonly #ambient: Ambient;
  readonly #deps: SiteReleaseDeps;
  readonly #lock: LeaseLock;
  readonly #at: { readonly namespace: string; readonly name: string };
  #held: LeaseRecord | undefined;
  #renewed: Instant | undefined;

  constructor(ambient: Ambient, deps: SiteReleaseDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    const { client, site, namespace } = deps;
    this.#at = { namespace, name: `siteward-${site.name}` };
    this.#lock = new LeaseLock({
      client,
      at: this.#at,
      labels: siteLabels(site.name),
      annotations: siteAnnotations(site),
    });
  }

  async run(signal: AbortSignal): Promise<Released> {
    const { dryRun } = this.#deps;
    const record = await this.#unheld(signal);
    if (record && !dryRun) await this.#take(record, signal);
    const done = await this.#nodes(signal);
    if (record) await this.#releaseLease(signal);
    return done;
  }

  /** The Lease, once it is certain that no agent leads; undefined if there is none. */
  async #unheld(signal: AbortSignal): Promise<LeaseRecord | undefined> {
    const { clock } = this.#ambient;
    const first = await this.#lock.read(signal);
    if (first?.holder === undefined) return first;
    const limit = Math.min(first.durationSeconds ?? heldFor, 3600) * 1000;
    this.#deps.print(
      `${first.holder} last held the site's Lease; waiting long enough to make sure that no board renews it`,
    );
    const begun = clock.now();
    for (;;) {
      await sleep(clock, readInterval, signal);
      signal.throwIfAborted();
      const now = await this.#lock.read(signal);
      if (now?.holder === undefined) return now;
      if (now.renewal !== first.renewal || now.holder !== first.holder)
        throw new ReleaseError(
          `${now.holder} leads the site`,
          "Stop the agents of all boards of the site first: systemctl disable --now siteward",
        );
      if (elapsed(begun, clock.now()) > limit) return now;
    }
  }

  async #take(record: LeaseRecord, signal: AbortSignal): Promise<void> {
    const now = this.#ambient.clock.now();
    const claim = { holder: this.#deps.identity, durationSeconds: heldFor, term: record.term + 1 };
    try {
      this.#held = await this.#lock.take(record, claim, now, { signal });
    } catch (error) {
      if (!isOvertaken(error)) throw error;
      throw new ReleaseError("another board has just taken the site's Lease", "Stop the agents of all boards first.");
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
    const { client, site, leaseNamespaces } = this.#deps;
    const claims = new SiteClaims(this.#ambient, {
      client,
      at: this.#at,
      leaseNamespaces,
      boards: noBoards,
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
          // The taints of a board that an older site claims belong to that site.
          if (claims.claimant(node.metadata.labels) !== undefined) return;
          seen++;
          if (!isNothing(leavingOf(node, this.#deps))) names.push(node.metadata.name);
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

  /** Removes everything that siteward wrote to a Node. Returns whether anything was removed, or would be. */
  async #clean(name: string, signal: AbortSignal): Promise<boolean> {
    const { client, dryRun, print } = this.#deps;
    for (let tries = 1; ; tries++) {
      try {
        const node = await client.get<Node>(nodes, { name }, signal);
        const leaving = leavingOf(node, this.#deps);
        if (isNothing(leaving)) return false;
        if (!dryRun) await this.#write(node, leaving, signal);
        print(`node ${name}: ${dryRun ? "would remove" : "removed"} ${leavingText(leaving)}`);
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        if (!isOvertaken(error) || tries >= maxTries) throw error;
      }
    }
  }

  async #write(node: Node, leaving: NodeRemovals, signal: AbortSignal): Promise<void> {
    const { client } = this.#deps;
    const { name } = node.metadata;
    const write = { signal, metadataOnly: true };
    if (leaving.conditions.length > 0)
      await client.patch<Node>(nodes, { name, subresource: "status" }, "strategic", statusPatch(node, leaving), write);
    if (leaving.taints.length + leaving.annotations.length === 0) return;
    // The first write changed the resourceVersion, so the Node is read again for the second one.
    const current = leaving.conditions.length > 0 ? await client.get<Node>(nodes, { name }, signal) : node;
    await client.patch<Node>(nodes, { name }, "merge", metadataPatch(current, leavingOf(current, this.#deps)), write);
  }

  /**
   * Releases the Lease and removes the site's claim and labels from it. The Lease itself is kept, with the counters of
   * signed commands and the number of the term, in case the site is set up again.
   */
  async #releaseLease(signal: AbortSignal): Promise<void> {
    const { client, dryRun, print } = this.#deps;
    const place = `${this.#at.namespace}/${this.#at.name}`;
    if (dryRun) {
      print(`lease ${place}: would be released, and the site's claim on its boards removed`);
      return;
    }
    const held = await this.#lock.read(signal);
    if (held === undefined || held.holder !== this.#deps.identity)
      throw new ReleaseError(
        `${held?.holder ?? "another board"} has taken the site's Lease`,
        "Stop the agents of all boards of the site, and run this again.",
      );
    const gone = (names: readonly string[]): object => Object.fromEntries(names.map((name) => [name, null]));
    const time = microTimestamp(this.#ambient.clock.now());
    const patch = {
      metadata: {
        uid: held.uid,
        resourceVersion: held.resourceVersion,
        annotations: gone(Object.keys(held.annotations).filter(isReleased)),
        labels: gone(Object.keys(siteLabels(this.#deps.site.name))),
      },
      spec: { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: time, renewTime: time },
    };
    await client.patch<Lease>(leases, this.#at, "merge", patch, { signal, metadataOnly: true });
    print(`lease ${place}: released, and the site's claim on its boards removed`);
  }
}

const isReleased = (annotation: string): boolean =>
  annotation.startsWith(ownPrefix) && annotation !== countersAnnotation;

/** Boards are needed only to report conflicts between sites, which a release does not. */
const noBoards: Lister<Node> = {
  get: () => undefined,
  list: () => [].values(),
  byIndex: () => [].values(),
  referencesByIndex: () => [].values(),
  indexValues: () => [].values(),
  countByIndex: () => 0,
  size: 0,
};
