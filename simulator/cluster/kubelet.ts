import type { Node, Pod } from "../../agent/api/core.ts";
import { leases, nodes, pods } from "../../agent/api/resources.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import { backoff } from "../../agent/base/backoff.ts";
import { elapsed, type Instant, type Millis, sleep } from "../../agent/base/clock.ts";
import { TaskGroup } from "../../agent/base/concurrency/tasks.ts";
import { WakeSignal } from "../../agent/base/concurrency/wake-signal.ts";
import { sentenceOf } from "../../agent/base/errors.ts";
import { jitter } from "../../agent/base/random.ts";
import { Mirror } from "../client/mirror.ts";
import { isNotFound, isTaken, type SiteClient } from "../client/site-client.ts";
import {
  type BoardPlate,
  boardAddress,
  isMisjudged,
  leaseNamespace,
  leaseSpec,
  newLease,
  newNode,
  nodeStatus,
  podNetwork,
} from "./board-node.ts";
import { beginRun, type PodPace, type PodRun, type PodStep, podStep } from "./pod-run.ts";

export interface KubeletSettings {
  /** Interval between two renewals of the board's Lease. */
  readonly renew: Millis;
  readonly leaseDuration: Millis;
  /** Interval of Node checks. A Node that differs from the board's true state is corrected immediately. */
  readonly look: Millis;
  /** Interval at which a status is posted even if nothing has changed. */
  readonly report: Millis;
  readonly pods: PodPace;
}

/** The defaults of a real kubelet, except that pods start and stop faster than real containers. */
export const kubeletDefaults: KubeletSettings = {
  renew: 10_000,
  leaseDuration: 40_000,
  look: 10_000,
  report: 300_000,
  pods: { start: 1000, finish: 1000 },
};

const leaseRetry = { first: 200, max: 7000 };
const podRetry: Millis = 1000;

/**
 * A simulated kubelet for one boot of its board: it registers the Node, renews its Lease, posts its status, and runs
 * the pods bound to it, without containers. `run` lasts from power-on to power-off: after the abort, it sends nothing
 * more, as in a power cut. While the link is down, it continues, but its requests are lost.
 */
export class Kubelet {
  readonly #ambient: Ambient;
  readonly #client: SiteClient;
  readonly #board: BoardPlate;
  readonly #settings: KubeletSettings;
  readonly #bootId: string;
  readonly #node: Mirror<Node>;
  readonly #pods: Mirror<Pod>;
  readonly #runs = new Map<string, PodRun>();

  constructor(
    ambient: Ambient,
    deps: {
      readonly client: SiteClient;
      readonly board: BoardPlate;
      readonly settings: KubeletSettings;
      /** The boot of the machine; if absent, the kubelet makes one up. */
      readonly bootId?: string;
    },
  ) {
    const { client, board } = deps;
    this.#ambient = ambient;
    this.#client = client;
    this.#board = board;
    this.#settings = deps.settings;
    this.#bootId = deps.bootId ?? ambient.random.uuid();
    const [node, mine] = [`metadata.name=${board.name}`, `spec.nodeName=${board.name}`];
    this.#node = new Mirror(ambient, { client, resource: nodes, scope: { fieldSelector: node } });
    this.#pods = new Mirror(ambient, { client, resource: pods, scope: { fieldSelector: mine } });
  }

  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup(signal);
    tasks.start("node watch", (ended) => this.#node.run(ended));
    tasks.start("pod watch", (ended) => this.#pods.run(ended));
    tasks.start("lease", (ended) => this.#keepLease(ended));
    tasks.start("status", (ended) => this.#keepStatus(ended));
    tasks.start("pods", (ended) => this.#keepPods(ended));
    await tasks.join();
  }

  async #keepLease(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ambient;
    let failures = 0;
    while (!signal.aborted) {
      failures = (await this.#tried("renew lease", () => this.#renew(signal))) ? 0 : failures + 1;
      // Retries of different boards must not fall into step either.
      const wait = failures === 0 ? jitter(random, this.#settings.renew, 0.04) : backoff(failures, leaseRetry);
      await sleep(clock, Math.min(wait, this.#settings.renew * 1.04), signal);
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const { leaseDuration } = this.#settings;
    const place = { namespace: leaseNamespace, name: this.#board.name };
    try {
      const spec = leaseSpec(this.#board, leaseDuration, clock.now());
      await this.#client.patch(leases, place, "merge", { spec }, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const lease = newLease(this.#board, this.#node.get(this.#board.name), leaseDuration, clock.now());
      await this.#client.create(leases, leaseNamespace, lease, signal);
    }
  }

  /**
   * Registers the Node once per boot, then posts its status. A Node that is deleted later remains deleted until the
   * board restarts.
   */
  async #keepStatus(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    let registered = false;
    let posted: Instant | undefined;
    while (!signal.aborted) {
      const now = clock.now();
      if (!registered) registered = await this.#tried("register", () => this.#register(signal));
      const seen = this.#node.get(this.#board.name);
      const due = posted === undefined || elapsed(posted, now) >= this.#settings.report;
      if (registered && (due || (seen !== undefined && isMisjudged(seen)))) {
        if (await this.#tried("post status", () => this.#post(seen, now, signal))) posted = now;
      }
      await sleep(clock, registered ? this.#settings.look : Math.min(1000, this.#settings.look), signal);
    }
  }

  async #register(signal: AbortSignal): Promise<void> {
    try {
      const node = newNode(this.#board, this.#bootId, this.#ambient.clock.now());
      await this.#client.create(nodes, undefined, node, signal);
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }

  async #post(seen: Node | undefined, now: Instant, signal: AbortSignal): Promise<void> {
    const { name } = this.#board;
    const current = seen ?? (await this.#client.get(nodes, { name }, signal));
    const status = nodeStatus(this.#board, current, this.#bootId, now);
    await this.#client.patch(nodes, { name, subresource: "status" }, "strategic", { status }, signal);
  }

  async #keepPods(signal: AbortSignal): Promise<void> {
    const bell = new WakeSignal(this.#ambient.clock);
    const detach = this.#pods.onChange(() => bell.ring());
    while (!signal.aborted) {
      const next = await this.#podPass(signal);
      await bell.wait(signal, next);
    }
    detach();
  }

  /** Processes every pod of this board; returns the time until the next check. */
  async #podPass(signal: AbortSignal): Promise<Millis> {
    let next = this.#settings.report;
    const present = [...this.#pods.values()];
    const uids = new Set(present.map(({ metadata }) => metadata.uid));
    for (const uid of this.#runs.keys()) if (!uids.has(uid)) this.#runs.delete(uid);
    for (const pod of present) {
      if (signal.aborted) break;
      const step = this.#step(pod, this.#ambient.clock.now());
      next = Math.min(next, step.after ?? next);
      const { namespace, name } = pod.metadata;
      // If one pod fails, the others would fail too.
      if (!(await this.#tried(`pod ${namespace}/${name}`, () => this.#perform(pod, step, signal)))) return podRetry;
    }
    return next;
  }

  #step(pod: Pod, now: Instant): PodStep {
    const { uid } = pod.metadata;
    const run = this.#runs.get(uid) ?? beginRun(pod, this.#freeAddress(), this.#settings.pods, now);
    const step = podStep(pod, run, boardAddress(this.#board), this.#settings.pods, now);
    this.#runs.set(uid, step.run);
    return step;
  }

  async #perform(pod: Pod, step: PodStep, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    try {
      if (step.status) {
        const place = { namespace, name, subresource: "status" } as const;
        // The uid prevents a status from being written to a new pod with the same name.
        await this.#client.patch(pods, place, "strategic", { metadata: { uid }, status: step.status }, signal);
      }
      if (step.remove) await this.#client.delete(pods, { namespace, name }, { uid, gracePeriodSeconds: 0 }, signal);
    } catch (error) {
      if (!isNotFound(error) && !isTaken(error)) throw error;
    }
  }

  #freeAddress(): string {
    const taken = new Set([...this.#runs.values()].map(({ ip }) => ip));
    for (const pod of this.#pods.values()) if (pod.status?.podIP !== undefined) taken.add(pod.status.podIP);
    let host = 2;
    while (taken.has(`${podNetwork(this.#board)}.${host}`) && host < 254) host++;
    return `${podNetwork(this.#board)}.${host}`;
  }

  /**
   * Runs an attempt and returns whether it succeeded. The calling loop retries failures; a board without a link is
   * normal here.
   */
  async #tried(what: string, attempt: () => Promise<void>): Promise<boolean> {
    try {
      await attempt();
      return true;
    } catch (error) {
      this.#ambient.log.debug("the kubelet's request failed", {
        board: this.#board.name,
        what,
        error: sentenceOf(error),
      });
      return false;
    }
  }
}
