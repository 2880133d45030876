import type { Node, Pod, Taint, Toleration } from "../../../agent/api/core.ts";
import { elapsed, type Instant, shifted } from "../../../agent/base/clock.ts";
import { dispositionOf } from "../../../agent/base/errors.ts";
import { isPostponed } from "../../../agent/base/postponed.ts";
import { siteKey } from "../../../agent/controllers/node-lifecycle/controller.ts";
import { firstMemory, type SiteMemory } from "../../../agent/controllers/node-lifecycle/memory.ts";
import type { NodeLifecycleSettings } from "../../../agent/controllers/node-lifecycle/settings.ts";
import type { Budget } from "../../../agent/controllers/node-lifecycle/zones/budget.ts";
import { decodeBudget, encodeBudget } from "../../../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import { registry } from "../../../agent/controllers/registry.ts";
import { DecisionBook } from "../../../agent/decisions/decision-book.ts";
import { type Outcome, subjectOf } from "../../../agent/execution/actions.ts";
import { type Holds, noHolds } from "../../../agent/holds/holds.ts";
import type { KubeletState, Word } from "../../../agent/judgement/word.ts";
import type { Controller, Decision } from "../../../agent/loop/controller.ts";
import { lease, type NodeOptions, node, type PodOptions, pod, shown } from "../../support/builders.ts";
import { millis, type Span } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { type Kind, ModelApi } from "./model-api.ts";

export const defaults: NodeLifecycleSettings = {
  policy: "kubernetes",
  ownNode: undefined,
  monitorPeriod: 5000,
  gracePeriod: 40_000,
  startupGracePeriod: 60_000,
  evictionRate: 0.1,
  secondaryRate: 0.01,
  largeZone: 50,
  unhealthyZone: 0.55,
  stall: 90_000,
  blip: 10_000,
  recovery: 600_000,
  unmanagedHold: 900_000,
};

type AnyController = Controller<unknown, unknown>;

export interface TermOptions {
  /** What the former leader's Lease says. */
  readonly budget?: string;
  /** What taint eviction had kept on this board. */
  readonly kept?: readonly (readonly [string, string])[];
  /** The board rebooted: its monotonic clock begins anew. */
  readonly reboot?: boolean;
}

/**
 * A site in one process: boards that renew their Leases every ten seconds, an API server on a link that can fail, and
 * all our controllers. Time passes only in `run`; `happenings` is what was done to the site, second by second.
 */
export class SiteModel {
  readonly settings: NodeLifecycleSettings;
  readonly api: ModelApi;
  readonly happenings: { readonly at: number; readonly what: string }[] = [];
  /** What the decision records say. */
  readonly recorded = new RecordingLog();
  readonly #book = new DecisionBook(
    {
      clock: { now: () => this.now, after: () => ({ cancel: () => {} }) },
      random: new SeededRandom(),
      log: this.recorded,
    },
    { log: { write: () => [], newest: () => [] }, board: "leader", bootId: "boot" },
  );
  /** A restore of the API server is remembered, so that it may still serve the former history. */
  wasRestored = false;
  now: Instant = { mono: 1_000_000, wall: Date.parse("2026-01-01T00:00:00Z") };
  #begin = this.now;
  #holds = noHolds;
  readonly #renewing = new Set<string>();
  #due = new Map<AnyController, Map<string, number>>();
  #memories = new Map<AnyController, Map<string, unknown>>();
  #boots = 1;
  #terms = 0;
  /** What comes before the first `run` has been there when the first term began. */
  #hasBegun = false;
  /** What boards answer on the LAN, by their names; each is asked every second. */
  readonly #answers = new Map<string, KubeletState>();
  /** Their last words. */
  readonly #words = new Map<string, Word>();
  #renewAt = this.now.mono;
  #bookmarkAt = this.now.mono;

  constructor(settings: Partial<NodeLifecycleSettings> = {}) {
    this.settings = { ...defaults, ...settings };
    this.api = new ModelApi({
      limits: this.settings,
      now: () => this.now,
      note: (what) => this.happenings.push({ at: this.seconds, what }),
      listen: (kind, change) => this.#wake(kind, this.#hasBegun ? change : { ...change, swept: "first" }),
    });
    this.lead();
  }

  // Boards, pods, and what happens to them.

  board(name: string, options: NodeOptions & { readonly silent?: boolean; readonly lease?: boolean } = {}): void {
    if (options.lease !== false) this.api.put("Lease", lease(name));
    if (options.lease !== false && !options.silent) this.#renewing.add(name);
    this.api.put("Node", node(name, options));
  }

  silence(...names: readonly string[]): void {
    for (const name of names) this.#renewing.delete(name);
  }

  /** Power is back: the Lease is renewed at once, and the kubelet reports that it is ready. */
  revive(...names: readonly string[]): void {
    for (const name of names) {
      this.renew(name);
      this.#renewing.add(name);
      this.report(name, { Ready: "True" });
    }
  }

  renew(name: string): void {
    this.api.put("Lease", lease(name));
  }

  /** The kubelet writes its status. */
  report(name: string, conditions: Readonly<Record<string, string>> = {}): void {
    const before = this.node(name);
    const heartbeat = new Date(this.now.wall).toISOString();
    const kept = Object.fromEntries((before.status?.conditions ?? []).map(({ type, status }) => [type, status]));
    const { status } = node(name, { conditions: { ...kept, ...conditions }, heartbeat });
    this.api.put("Node", { ...before, ...(status && { status }) });
  }

  /** From now on a board answers on the LAN; undefined: it does so no more, and its last word ages. */
  answer(name: string, kubelet: KubeletState | undefined): void {
    this.#wordOf(name);
    if (kubelet) this.#answers.set(name, kubelet);
    else this.#answers.delete(name);
  }

  #wordOf(name: string): Word | undefined {
    const kubelet = this.#answers.get(name);
    if (kubelet) this.#words.set(name, { askedAt: this.now, asked: 0, kubelet });
    const word = this.#words.get(name);
    return word && { ...word, asked: Math.floor(elapsed(word.askedAt, this.now) / 5000) };
  }

  change(name: string, change: (before: Node) => Node): void {
    this.api.put("Node", change(this.node(name)));
  }

  setTaints(name: string, ...taints: readonly Taint[]): void {
    this.change(name, (before) => ({ ...before, spec: { ...before.spec, taints } }));
  }

  /** The Node is deleted. */
  remove(name: string): void {
    this.silence(name);
    this.api.remove("Node", name);
  }

  pod(name: string, options: PodOptions): void {
    this.api.put("Pod", pod(name, options));
  }

  tolerate(name: string, ...tolerations: readonly Toleration[]): void {
    const before = this.#pod(name);
    if (before) this.api.put("Pod", { ...before, spec: { containers: [], ...before.spec, tolerations } } as Pod);
  }

  // Terms.

  /** What operators hold back from now on; every key is looked at then. */
  hold(change: (holds: Holds) => Holds): void {
    this.#holds = change(this.#holds);
    this.#wakeAll();
  }

  /** A new term begins, on this board or another. */
  lead({ budget, kept = [], reboot = false }: TermOptions = {}): void {
    if (reboot) this.#reboot();
    this.#terms++;
    const left = decodeBudget(budget, this.now);
    const inherited = (): Budget | undefined => left;
    const holds = (): Holds => this.#holds;
    const wordOf = (board: string): Word | undefined => this.#wordOf(board);
    const deps = {
      nodeLifecycle: { settings: this.settings, inherited, holds, wordOf },
      taintEviction: {
        settings: this.settings,
        boot: `boot-${this.#boots}`,
        inherited,
        holds,
        wordOf,
        recordOf: (board: string) => this.memory.boards.get(board),
        mayBeFormer: () => this.wasRestored,
      },
    };
    const eviction = registry["taint-eviction"](deps);
    const controllers: readonly AnyController[] = [
      registry["node-lifecycle"](deps),
      registry["node-taints"](),
      registry["pod-readiness"](deps),
      registry["out-of-service"](),
      eviction,
    ];
    this.#memories = new Map(controllers.map((controller) => [controller, new Map()]));
    this.#due = new Map(
      controllers.map((controller) => [controller, new Map(controller.firstKeys?.map((key) => [key, this.now.mono]))]),
    );
    for (const [key, text] of kept) {
      this.#memories.get(eviction)?.set(key, eviction.durable?.load(text, this.now));
      this.#schedule(eviction, key, 0);
    }
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const controller of this.#controllers) {
      for (const key of controller.firstKeys ?? []) this.#schedule(controller, key, 0);
    }
    for (const kind of ["Node", "Pod", "Lease"] as const) {
      for (const [key, after] of this.api.cached(kind))
        this.#wake(kind, { key, before: undefined, after, swept: "first" });
    }
  }

  get budget(): string {
    return encodeBudget(this.memory, this.now);
  }

  get memory(): SiteMemory {
    return (this.#memoryOf("node-lifecycle")?.get(siteKey) as SiteMemory | undefined) ?? firstMemory;
  }

  /** What taint eviction keeps on this board's disk. */
  get kept(): readonly (readonly [string, string])[] {
    const eviction = this.#controllers.find(({ name }) => name === "taint-eviction");
    return [...(this.#memoryOf("taint-eviction") ?? [])].flatMap(([key, memory]) => {
      const text = eviction?.durable?.save(memory, this.now);
      return text === undefined ? [] : [[key, text] as const];
    });
  }

  // What is true now.

  get seconds(): number {
    return Math.round(elapsed(this.#begin, this.now)) / 1000;
  }

  node(name: string): Node {
    const found = this.api.get("Node", name);
    if (!found) throw new Error(`no node ${name}`);
    return found;
  }

  taints(name: string): readonly string[] {
    return (this.node(name).spec?.taints ?? []).map(shown).sort();
  }

  noExecute(name: string): readonly string[] {
    return this.taints(name).filter((taint) => taint.endsWith(":NoExecute"));
  }

  conditions(name: string): Readonly<Record<string, string>> {
    return Object.fromEntries((this.node(name).status?.conditions ?? []).map(({ type, status }) => [type, status]));
  }

  podReady(name: string): string | undefined {
    return this.#pod(name)?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  }

  exists(name: string): boolean {
    return this.#pod(name) !== undefined;
  }

  /** Seconds since the story began. */
  times(what: string | RegExp): readonly number[] {
    const fits = (text: string): boolean => (typeof what === "string" ? text === what : what.test(text));
    return this.happenings.filter((happening) => fits(happening.what)).map(({ at }) => at);
  }

  // Time.

  async run(span: Span): Promise<void> {
    this.#hasBegun = true;
    const end = this.now.mono + millis(span);
    for (;;) {
      await this.#work();
      const due = [...this.#due.values()].flatMap((keys) => [...keys.values()]);
      const next = Math.min(this.#renewAt, this.#bookmarkAt, ...due);
      if (next > end) break;
      this.now = shifted(this.now, Math.max(0, next - this.now.mono));
      if (this.now.mono >= this.#renewAt) {
        this.#renewAt += 10_000;
        for (const name of this.#renewing) this.renew(name);
      }
      if (this.now.mono >= this.#bookmarkAt) {
        this.#bookmarkAt += 60_000;
        this.api.bookmark();
      }
    }
    this.now = shifted(this.now, end - this.now.mono);
  }

  get #controllers(): readonly AnyController[] {
    return [...this.#due.keys()];
  }

  #memoryOf(name: string): ReadonlyMap<string, unknown> | undefined {
    return [...this.#memories].find(([controller]) => controller.name === name)?.[1];
  }

  #pod(name: string): Pod | undefined {
    return this.api.get("Pod", `default/${name}`) as Pod | undefined;
  }

  #reboot(): void {
    this.#boots++;
    const back = -900_000;
    this.#begin = { ...this.#begin, mono: this.#begin.mono + back };
    this.now = { ...this.now, mono: this.now.mono + back };
    this.#renewAt += back;
    this.#bookmarkAt += back;
    this.api.reboot();
  }

  /** Everything that is due, one key after the other. */
  async #work(): Promise<void> {
    for (let rounds = 0; rounds < 100_000; rounds++) {
      const next = this.#nextDue();
      if (next === undefined) return;
      this.#due.get(next.controller)?.delete(next.key);
      await this.#pass(next.controller, next.key);
    }
    throw new Error("a controller never rests");
  }

  #nextDue(): { controller: AnyController; key: string } | undefined {
    for (const [controller, keys] of this.#due) {
      for (const [key, at] of keys) if (at <= this.now.mono) return { controller, key };
    }
    return undefined;
  }

  /** As the control loop does it: at one instant, however long its writes take. */
  async #pass(controller: AnyController, key: string): Promise<void> {
    const { now } = this;
    const memories = this.#memories.get(controller) ?? new Map<string, unknown>();
    const before = memories.get(key) ?? controller.initialMemory;
    const state = await controller.observe(key, this.api.view, before);
    if (state === undefined) {
      memories.delete(key);
      this.#book.due({ by: controller.name, key, term: this.#terms }, []);
      return;
    }
    let decision: Decision<unknown> = controller.decide(state, before, now);
    let failed = false;
    for (let round = 1; ; round++) {
      const outcomes = this.api.execute(decision.actions, controller.patience !== undefined);
      for (const outcome of outcomes) this.#record(controller.name, outcome);
      failed ||= outcomes.some((outcome) => !outcome.ok && !isPostponed(outcome.error));
      if (!controller.remember) {
        if (failed) decision = { ...decision, memory: before };
        break;
      }
      decision = controller.remember(decision, outcomes, now);
      if (decision.actions.length === 0) break;
      if (round === 10) throw new Error("a pass never ends");
    }
    memories.set(key, decision.memory);
    this.#book.due({ by: controller.name, key, term: this.#terms }, decision.due ?? []);
    if (decision.requeueAfter !== undefined) this.#schedule(controller, key, decision.requeueAfter);
    if (failed) this.#schedule(controller, key, 1000);
  }

  /** As the executor does it. */
  #record(by: string, { action, ...outcome }: Outcome): void {
    if (!("target" in action) || action.grounds === undefined) return;
    const act = { on: subjectOf(action.target), grounds: action.grounds, by, term: this.#terms };
    if (outcome.ok) this.#book.acted(act);
    else if (dispositionOf(outcome.error) !== "refresh") this.#book.acted(act, outcome.error);
  }

  #schedule(controller: AnyController, key: string, after: number): void {
    const due = this.#due.get(controller);
    const at = this.now.mono + after;
    due?.set(key, Math.min(at, due.get(key) ?? at));
  }

  #wake(kind: Kind, change: Parameters<NonNullable<AnyController["wakes"][number]>["keys"]>[0]): void {
    for (const controller of this.#controllers) {
      for (const { on, keys } of controller.wakes) {
        if (on.kind !== kind) continue;
        for (const key of keys(change, this.api.view)) if (key !== undefined) this.#schedule(controller, key, 0);
      }
    }
  }
}
