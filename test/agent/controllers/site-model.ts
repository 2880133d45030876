import type { Node, Pod, Taint, Toleration } from "../../../agent/api/core.ts";
import { type KubeObject, keyOf } from "../../../agent/api/meta.ts";
import { leases, nodes, pods, type Resource, resourceName } from "../../../agent/api/resources.ts";
import { elapsed, type Instant, type Millis } from "../../../agent/base/clock.ts";
import type { Disposition } from "../../../agent/base/errors.ts";
import { PostponedError } from "../../../agent/base/postponed.ts";
import { siteKey } from "../../../agent/controllers/node-lifecycle/controller.ts";
import { firstMemory, type SiteMemory } from "../../../agent/controllers/node-lifecycle/memory.ts";
import {
  noRecollection,
  type Recollection,
  recollect,
} from "../../../agent/controllers/node-lifecycle/recollection.ts";
import type { NodeLifecycleSettings } from "../../../agent/controllers/node-lifecycle/settings.ts";
import type { Budget } from "../../../agent/controllers/node-lifecycle/zones/budget.ts";
import { decodeBudget, encodeBudget } from "../../../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import { registry } from "../../../agent/controllers/registry.ts";
import { openValve, type ValveAt, type ValveNow } from "../../../agent/controllers/safety-valve.ts";
import type { EvictionTimer } from "../../../agent/controllers/taint-eviction/timer.ts";
import { DecisionBook } from "../../../agent/decisions/decision-book.ts";
import { type Action, type EventAction, type ObjectRef, placeOf } from "../../../agent/execution/actions.ts";
import type { Acts } from "../../../agent/execution/executor.ts";
import { type Holds, noHolds } from "../../../agent/holds/holds.ts";
import type { KubeletState, LanAnswer } from "../../../agent/judgement/lan-answer.ts";
import { type LanReport, noneCounted, type Unanswered } from "../../../agent/judgement/lan-silence.ts";
import type { ControlLoop } from "../../../agent/loop/control-loop.ts";
import type { SiteView } from "../../../agent/loop/controller.ts";
import { type MemoryStore, memoryArea } from "../../../agent/loop/memory-store.ts";
import { CachedSiteView } from "../../../agent/loop/site-view.ts";
import { refusal } from "../../replay/site/answers.ts";
import { CaseTime } from "../../replay/site/case-time.ts";
import type { MemoryApiDeps, Write } from "../../replay/site/memory-api.ts";
import { Site } from "../../replay/site/site.ts";
import type { LinkState } from "../../replay/site/site-link.ts";
import { type NodeOptions, node, type PodOptions, pod, shown } from "../../support/builders.ts";
import { millis, type Span } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

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
  unprovenHold: 900_000,
  zoneHold: 900_000,
  unmanagedHold: 900_000,
};

type TargetedAction = Exclude<Action, { readonly do: "create" | "event" }>;
type AnyLoop = ControlLoop<unknown, unknown>;

export interface TermOptions {
  /** What the former leader's Lease says. */
  readonly budget?: string;
  /** What taint eviction had kept on this board. */
  readonly kept?: readonly (readonly [string, string])[];
  /** The board rebooted: its monotonic clock begins anew. */
  readonly reboot?: boolean;
  /** What the judge of this process keeps of its last term. */
  readonly recalled?: Recollection;
  /** False if node-lifecycle is turned off, so that no leader judges the boards. */
  readonly judges?: boolean;
}

const area = memoryArea("taint-eviction");
const bookmarks: Millis = 60_000;

/**
 * A site in memory whose leader judges the boards and evicts their pods: boards that renew their Leases every ten
 * seconds, and a link to the API server that can fail. Time passes only in `run`; `happenings` is what was done to the
 * site, second by second. The controllers act at the same time, as on a board: an act may meet the write of another one
 * and follow 100 ms later.
 */
export class SiteModel {
  readonly settings: NodeLifecycleSettings;
  readonly happenings: { readonly at: number; readonly what: string }[] = [];
  /** What the decision records say. */
  readonly recorded = new RecordingLog();
  readonly events: EventAction[] = [];
  readonly fetched: string[] = [];
  /** Decides about the writes that fail: answers how, or undefined. */
  refuse: (action: Action) => Disposition | Error | undefined = () => undefined;
  /** Writes that go through in one round of the judge; the others are postponed. */
  allowance = Number.POSITIVE_INFINITY;
  /** A restore of the API server is remembered, so that it may still serve the former history. */
  wasRestored = false;
  /** The highest term that was known when a restore of the API server was noticed. */
  undoneUntil: number | undefined;
  /** The site is the whole cluster, so that every Node is in the cache. */
  seesAllBoards = true;
  readonly #book = new DecisionBook(
    {
      clock: { now: () => this.now, after: () => ({ cancel: () => {} }) },
      random: new SeededRandom(),
      log: this.recorded,
    },
    { log: { write: () => [], newest: () => [] }, board: "leader", bootId: "boot" },
  );
  #site: Site;
  #begin: Instant;
  #holds = noHolds;
  #valve: ValveAt = () => openValve;
  /** What boards answer on the LAN, by their names; each is asked every second. */
  readonly #answers = new Map<string, Pick<LanAnswer, "kubelet" | "isRebooted">>();
  /** Their last words to this leader. */
  readonly #words = new Map<string, LanAnswer>();
  /** What came of the questions that they do not answer. */
  readonly #unanswered = new Map<string, Unanswered>();
  #store = new Map<string, string>();
  #loops: readonly AnyLoop[] = [];
  #boots = 1;
  #hasBegun = false;
  /** The newest action of each kind on each object, by the write that it becomes. */
  readonly #acting = new Map<string, TargetedAction>();
  readonly #postponed = new WeakSet<Action>();
  readonly #renewing = new Set<string>();

  constructor(settings: Partial<NodeLifecycleSettings> = {}) {
    this.settings = { ...defaults, ...settings };
    this.#site = this.#boot(new CaseTime(undefined, 1_000_000));
    this.#begin = this.now;
    this.#prepare({});
  }

  get api(): Site["api"] {
    return this.#site.api;
  }

  get now(): Instant {
    return this.#site.clock.now();
  }

  // Boards, pods, and what happens to them.

  board(name: string, options: NodeOptions & { readonly silent?: boolean; readonly lease?: boolean } = {}): void {
    if (options.lease !== false) this.renew(name);
    if (options.lease !== false && !options.silent) this.#renews(name);
    this.api.put(nodes, node(name, options));
  }

  silence(...names: readonly string[]): void {
    for (const name of names) {
      this.#renewing.delete(name);
      this.#site.kubelets.setAlive(name, false);
    }
  }

  /** Power is back: the Lease is renewed at once, and the kubelet reports that it is ready. */
  revive(...names: readonly string[]): void {
    for (const name of names) {
      this.#renews(name);
      this.report(name, { Ready: "True" });
    }
  }

  renew(name: string): void {
    this.#site.kubelets.renew(name);
  }

  /** The kubelet writes its status. */
  report(name: string, conditions: Readonly<Record<string, string>> = {}): void {
    const before = this.node(name);
    const heartbeat = new Date(this.now.wall).toISOString();
    const kept = Object.fromEntries((before.status?.conditions ?? []).map(({ type, status }) => [type, status]));
    const { status } = node(name, { conditions: { ...kept, ...conditions }, heartbeat });
    this.api.put(nodes, { ...before, ...(status && { status }) });
  }

  /** From now on a board answers on the LAN; undefined: it does so no more, and its last word ages. */
  answer(name: string, kubelet: KubeletState | undefined, more: Pick<LanAnswer, "isRebooted"> = {}): void {
    this.#wordOf(name);
    if (kubelet) this.#answers.set(name, { kubelet, ...more });
    else this.#answers.delete(name);
  }

  /** From now on, this is known of the questions to a board that does not answer; undefined: the LAN knows nothing. */
  unanswered(name: string, found: Partial<Unanswered> | undefined): void {
    if (found === undefined) this.#unanswered.delete(name);
    else this.#unanswered.set(name, { isCalibrated: true, counted: noneCounted, alone: noneCounted, ...found });
  }

  #wordOf(name: string): LanAnswer | undefined {
    const answer = this.#answers.get(name);
    if (answer) this.#words.set(name, { askedAt: this.now, asked: 0, ...answer });
    const word = this.#words.get(name);
    return word && { ...word, asked: Math.floor(elapsed(word.askedAt, this.now) / 5000) };
  }

  change(name: string, change: (before: Node) => Node): void {
    this.api.put(nodes, change(this.node(name)));
  }

  /** Another client annotates the board's Node. */
  annotate(name: string, annotations: Readonly<Record<string, string>>): void {
    this.change(name, (before) => ({
      ...before,
      metadata: { ...before.metadata, annotations: { ...before.metadata.annotations, ...annotations } },
    }));
  }

  setTaints(name: string, ...taints: readonly Taint[]): void {
    this.change(name, (before) => ({ ...before, spec: { ...before.spec, taints } }));
  }

  /** The Node is deleted. */
  remove(name: string): void {
    this.silence(name);
    this.api.remove(nodes, name);
  }

  /** A pod of a ReplicaSet, unless the options name another owner, or undefined for none. */
  pod(name: string, options: PodOptions): void {
    this.api.put(pods, pod(name, { owner: "ReplicaSet", ...options }));
  }

  tolerate(name: string, ...tolerations: readonly Toleration[]): void {
    const before = this.findPod(name);
    if (before) this.api.put(pods, { ...before, spec: { containers: [], ...before.spec, tolerations } });
  }

  // The link.

  cut(): void {
    this.#site.link?.fail("cut");
  }

  /** The watches break, and what is asked for or written goes through: so it is while the cache cannot be written. */
  breakWatches(): void {
    this.#site.link?.fail("unwatched");
  }

  /** The watches are open again; `behind`: what they missed is on its way until `restore`. */
  restore(behind: "behind" | "at once" = "at once"): void {
    this.#site.link?.open();
    if (behind === "behind") return;
    this.link = "up";
    this.api.deliver();
  }

  /** The watch of this kind stays live, and what it brings is on its way from now on. */
  delay(kind: "Node" | "Lease" | "Pod"): void {
    this.#site.link?.late.add(kind);
  }

  set link(state: LinkState) {
    if (this.#site.link) this.#site.link.state = state;
  }

  // Terms.

  /** What operators hold back from now on; every key is looked at then. */
  hold(change: (holds: Holds) => Holds): void {
    this.#holds = change(this.#holds);
    for (const loop of this.#loops) loop.wakeAll();
  }

  /** What the safety valve permits from now on, perhaps by namespace; every key is looked at then. */
  permit(valve: ValveNow | ((namespace: string | undefined) => ValveNow)): void {
    this.#valve = (_now, namespace) => (typeof valve === "function" ? valve(namespace) : valve);
    for (const loop of this.#loops) loop.wakeAll();
  }

  /** A new term begins, on this board or another. */
  async lead(options: TermOptions = {}): Promise<void> {
    await this.#site.endTerm();
    if (options.reboot) this.#reboot();
    this.#prepare(options);
    this.#start();
  }

  get budget(): string {
    return encodeBudget(this.memory, undefined, this.now);
  }

  /** What this process would keep for its next term. */
  get recollection(): Recollection {
    return recollect(this.memory, this.settings.gracePeriod);
  }

  get memory(): SiteMemory {
    return (this.#loopOf("node-lifecycle")?.memoryOf(siteKey) as SiteMemory | undefined) ?? firstMemory;
  }

  /** The timers of taint eviction. */
  get timers(): readonly EvictionTimer[] {
    const memories = this.#loopOf("taint-eviction")?.memories() ?? [];
    return [...memories].filter((memory) => memory !== undefined) as EvictionTimer[];
  }

  /** What taint eviction keeps on this board's disk. */
  get kept(): readonly (readonly [string, string])[] {
    return [...this.#store];
  }

  /** The site as a pass sees it. */
  get view(): SiteView {
    const { signal } = new AbortController();
    const view = new CachedSiteView({ caches: this.api, client: this.api }, { now: this.now, signal });
    return {
      now: view.now,
      lister: view.lister.bind(view),
      fetch: view.fetch.bind(view),
      inTurns: view.inTurns.bind(view),
      watch: view.watch.bind(view),
      position: view.position.bind(view),
    };
  }

  // What is true now.

  get seconds(): number {
    return Math.round(elapsed(this.#begin, this.now)) / 1000;
  }

  node(name: string): Node {
    const found = this.api.find(nodes, name);
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
    return this.findPod(name)?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  }

  exists(name: string): boolean {
    return this.findPod(name) !== undefined;
  }

  findPod(name: string): Pod | undefined {
    return this.api.find(pods, `default/${name}`);
  }

  /** Seconds since the story began. */
  times(what: string | RegExp): readonly number[] {
    const fits = (text: string): boolean => (typeof what === "string" ? text === what : what.test(text));
    return this.happenings.filter((happening) => fits(happening.what)).map(({ at }) => at);
  }

  async run(span: Span): Promise<void> {
    if (!this.#hasBegun) this.#start();
    await this.#site.clock.advance(millis(span));
  }

  /** Time passes in which the leader does nothing. */
  skip(span: Span): void {
    this.#site.clock.skip(millis(span));
  }

  /** Why acts are held now. */
  get heldFor(): readonly string[] {
    return this.#book.heldCounts().flatMap(({ why, now }) => (now > 0 ? [why] : []));
  }

  /** Executes an action as an operator's command does. */
  async execute(action: Action): Promise<boolean> {
    const term = { number: 0, signal: new AbortController().signal, standsAt: () => true };
    const [outcome] = await this.#site.executor.execute([action], term);
    return outcome?.ok === true;
  }

  #renews(name: string): void {
    this.#renewing.add(name);
    this.#site.kubelets.setAlive(name, true);
  }

  #boot(time: CaseTime): Site {
    const site = new Site(time, {
      limits: this.settings,
      decisions: this.#book,
      events: { record: (event) => this.#recorded(event) },
      wrote: (write) => this.#wrote(write),
      asked: ({ resource, key }) => void this.fetched.push(`${resourceName(resource)} ${key}`),
      refuse: (write) => this.#refusal(write),
    });
    site.kubelets.begin();
    const bookmark = (): void => {
      site.clock.after(bookmarks, () => {
        site.link?.bookmark();
        bookmark();
      });
    };
    bookmark();
    return site;
  }

  /** The same site, seen by a new process whose monotonic clock begins anew. */
  #reboot(): void {
    this.#boots++;
    const { now, api } = this;
    const passed = elapsed(this.#begin, now);
    const found = ([nodes, pods, leases] as readonly Resource<KubeObject>[]).map(
      (resource) => [resource, api.all(resource)] as const,
    );
    this.#site = this.#boot(new CaseTime(new Date(now.wall).toISOString(), 100_000));
    this.#begin = { ...this.#begin, mono: this.now.mono - passed };
    for (const [resource, objects] of found) for (const object of objects) this.api.adopt(resource, object);
    for (const name of this.#renewing) this.#site.kubelets.setAlive(name, true);
  }

  #prepare({ budget, kept = [], recalled = noRecollection, judges = true }: TermOptions): void {
    const left = decodeBudget(budget, this.now);
    const inherited = (): Budget | undefined => left;
    const holds = (): Holds => this.#holds;
    const valve: ValveAt = (now, namespace) => this.#valve(now, namespace);
    const wordOf = (board: string): LanReport | undefined => {
      const [word, unanswered] = [this.#wordOf(board), this.#unanswered.get(board)];
      return { ...(word && { word }), ...(unanswered && { unanswered }) };
    };
    const deps = {
      nodeLifecycle: {
        ...{ settings: this.settings, inherited, holds, valve, wordOf, recalled },
        undoneUntil: () => this.undoneUntil,
      },
      taintEviction: {
        settings: this.settings,
        boot: `boot-${this.#boots}`,
        inherited,
        holds,
        valve,
        wordOf,
        recordOf: (board: string) => (judges ? this.memory.boards.get(board) : ("no judge" as const)),
        mayBeFormer: () => this.wasRestored,
        seesAllBoards: () => this.seesAllBoards,
      },
    };
    this.#store = new Map(kept);
    this.#words.clear();
    const store: MemoryStore = {
      entries: (of) => (of === area ? this.#store : []),
      set: (_, key, text) => void this.#store.set(key, text),
      delete: (_, key) => void this.#store.delete(key),
    };
    const acts: Acts = {
      execute: async (actions, term, pass) => {
        const writes = actions.filter((action) => "target" in action);
        for (const action of writes) this.#acting.set(writeOf(action), action);
        if (pass.patience !== undefined) for (const one of writes.slice(this.allowance)) this.#postponed.add(one);
        return await this.#site.executor.execute(actions, term, pass);
      },
    };
    const site = this.#site;
    this.#loops = [
      ...(judges ? [site.loopOf(registry["node-lifecycle"](deps), undefined, acts)] : []),
      site.loopOf(registry["node-taints"](), undefined, acts),
      site.loopOf(registry["pod-readiness"](deps), undefined, acts),
      site.loopOf(registry["out-of-service"](deps), undefined, acts),
      site.loopOf(registry["taint-eviction"](deps), store, acts),
      // Loops of different states and memories have no common type; this kit uses only what does not depend on them.
    ] as unknown as readonly AnyLoop[];
    this.#hasBegun = false;
  }

  #start(): void {
    this.#hasBegun = true;
    for (const loop of this.#loops) this.#site.start(loop);
  }

  #loopOf(name: string): AnyLoop | undefined {
    return this.#loops.find((loop) => loop.name === name);
  }

  /** Why a write fails: the story refuses the action behind it, or its pass has no time left. */
  #refusal({ verb, resource, key, subresource, body }: Parameters<MemoryApiDeps["refuse"]>[0]): string | undefined {
    const action = this.#acting.get([verb, resource.kind, key, subresource].join(" "));
    if (action === undefined) return undefined;
    if (this.#postponed.has(action)) throw new PostponedError("no time left");
    const { resourceVersion } = (body as { readonly metadata?: ObjectRef }).metadata ?? {};
    const { resourceVersion: _, ...target } = action.target;
    const sent = { ...action, target: { ...target, ...(resourceVersion !== undefined && { resourceVersion }) } };
    const how = this.refuse(sent);
    if (how instanceof Error) throw how;
    // Thrown here: after a conflict that is returned, MemoryApi changes the object.
    if (how !== undefined) throw refusal("patch", key, how === "refresh" ? "Conflict" : "InternalError");
    return undefined;
  }

  #note(what: string): void {
    this.happenings.push({ at: this.seconds, what });
  }

  #recorded(event: EventAction): void {
    this.events.push(event);
    this.#note(`${event.reason} ${event.about.name}${/Cancelling/.test(event.message) ? " cancelled" : ""}`);
  }

  #wrote({ verb, before, after, refused }: Write): void {
    if (refused !== undefined || before === undefined) return;
    const { name } = before.metadata;
    if (verb === "delete") this.#note(`deleted ${name}`);
    else if (after) for (const what of differences(before, after)) this.#note(`${name} ${what}`);
  }
}

function writeOf({ do: verb, target, ...more }: TargetedAction): string {
  const key = keyOf({ metadata: placeOf(target) });
  return [verb, target.resource.kind, key, "subresource" in more ? more.subresource : undefined].join(" ");
}

interface Patched extends KubeObject {
  readonly spec?: Node["spec"];
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function differences(before: Patched, after: Patched): readonly string[] {
  const had = (before.spec?.taints ?? []).map(shown);
  const has = (after.spec?.taints ?? []).map(shown);
  const said = (before.status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`);
  const says = (after.status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`);
  return [
    ...has.filter((taint) => !had.includes(taint)).map((taint) => `+${taint}`),
    ...had.filter((taint) => !has.includes(taint)).map((taint) => `-${taint}`),
    ...says.filter((condition) => !said.includes(condition)),
  ];
}
