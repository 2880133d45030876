import type { Node, NodeCondition } from "../../../agent/api/core.ts";
import { nodes } from "../../../agent/api/resources.ts";
import { taintsOf } from "../../../agent/api/taints.ts";
import type { Millis } from "../../../agent/base/clock.ts";
import { readyOf } from "../../../agent/controllers/node-lifecycle/health.ts";
import { MalformedCase } from "../malformed.ts";
import { type ReadyWord, statusOf } from "../shorthand.ts";
import type { CaseTime } from "./case-time.ts";
import { conditionsFrom, type GivenNode, isShortNode, nodeFrom } from "./node-form.ts";
import type { Site } from "./site.ts";
import { showTaint, taintFrom } from "./taint-text.ts";

/** What a kubelet posts. */
export interface Posted {
  readonly ready?: ReadyWord;
  readonly heartbeatMs?: Millis;
  readonly transitionMs?: Millis;
  readonly conditions?: ReadonlyMap<string, string>;
  readonly alive?: boolean;
}

/** The boards of a case: their Nodes, their Leases, and which of them are alive. */
export class Boards {
  readonly #site: Site;
  readonly #time: CaseTime;
  readonly #readyLives: boolean;

  /** `readyLives`: a board that reports its readiness is alive, and renews its Lease without an event in the case. */
  constructor(site: Site, { time, readyLives }: { readonly time: CaseTime; readonly readyLives: boolean }) {
    this.#site = site;
    this.#time = time;
    this.#readyLives = readyLives;
  }

  put(given: GivenNode): void {
    const { api, kubelets } = this.#site;
    const short = isShortNode(given) ? given : undefined;
    const { metadata } = api.put(nodes, short ? nodeFrom(short, this.#time) : given);
    if (short?.lease !== undefined) kubelets.renew(metadata.name, short.lease);
    this.#live(metadata.name, short?.alive);
  }

  delete(name: string): void {
    this.#site.kubelets.setAlive(name, false);
    this.#site.api.remove(nodes, this.find(name).metadata.name);
  }

  /** Its kubelet writes its status: every condition gets the heartbeat. */
  post(name: string, { ready, heartbeatMs, transitionMs, conditions, alive }: Posted): void {
    const node = this.find(name);
    const now = this.#site.clock.now().mono;
    const beat = this.#time.stamp(heartbeatMs ?? now);
    const wanted = new Map(conditions);
    const status = ready && statusOf(ready);
    if (status !== undefined) wanted.set("Ready", status);
    const before = (node.status?.conditions ?? []).filter(({ type }) => ready !== "-" || type !== "Ready");
    const kept = before.map((condition): NodeCondition => {
      const next = wanted.get(condition.type) ?? condition.status;
      const hasChanged = next !== condition.status;
      wanted.delete(condition.type);
      const moved = hasChanged || transitionMs !== undefined;
      return {
        type: condition.type,
        status: next,
        ...(!hasChanged && { reason: condition.reason, message: condition.message }),
        lastHeartbeatTime: beat,
        ...(moved
          ? { lastTransitionTime: this.#time.stamp(transitionMs ?? now) }
          : condition.lastTransitionTime !== undefined && { lastTransitionTime: condition.lastTransitionTime }),
      };
    });
    const stamps = { heartbeatMs: heartbeatMs ?? now, transitionMs: transitionMs ?? now };
    const added = conditionsFrom(wanted, stamps, this.#time);
    this.#site.api.put(nodes, { ...node, status: { ...node.status, conditions: [...kept, ...added] } });
    if (alive !== undefined || ready !== undefined) this.#live(name, alive);
  }

  /** Another client, perhaps a person, sets or removes taints; the remaining ones keep their times. */
  taint(name: string, wanted: readonly string[]): void {
    const node = this.find(name);
    const before = new Map(taintsOf(node).map((taint) => [showTaint(taint), taint]));
    const timeAdded = this.#time.stamp(this.#site.clock.now().mono);
    const taints = wanted.map((text) => before.get(text) ?? { ...taintFrom(text), timeAdded });
    this.#site.api.put(nodes, { ...node, spec: { ...node.spec, taints } });
  }

  /** null removes a label. */
  label(name: string, changes: ReadonlyMap<string, string | null>): void {
    const node = this.find(name);
    const all = Object.entries({ ...node.metadata.labels, ...Object.fromEntries(changes) });
    const labels = Object.fromEntries(all.filter(([, value]) => value !== null));
    this.#site.api.put(nodes, { ...node, metadata: { ...node.metadata, labels } });
  }

  cordon(name: string, unschedulable: boolean): void {
    const node = this.find(name);
    this.#site.api.put(nodes, { ...node, spec: { ...node.spec, unschedulable } });
  }

  find(name: string): Node {
    const found = this.#site.api.find(nodes, name);
    if (found === undefined) throw new MalformedCase([`there is no node ${JSON.stringify(name)} at that time`]);
    return found;
  }

  /** By label, in natural order of their names: n2 before n10. */
  inZone(zone: string): readonly string[] {
    return this.#site.api
      .all(nodes)
      .filter(({ metadata: { labels = {} } }) => (labels["topology.kubernetes.io/zone"] ?? "") === zone)
      .map(({ metadata }) => metadata.name)
      .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  }

  #live(name: string, stated: boolean | undefined): void {
    const status = readyOf(this.find(name))?.status;
    const alive = stated ?? (this.#readyLives ? status === "True" || status === "False" : undefined);
    if (alive !== undefined) this.#site.kubelets.setAlive(name, alive);
  }
}
