import { DecisionLog } from "../../storage/decision-log.ts";
import type { Node } from "../api/core.ts";
import { nodes } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant, Millis } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import type { Progress } from "../base/progress.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { AgentSiteControls } from "../commands/operations/site-controls.ts";
import { pretenceOf } from "../config/shadow-mode.ts";
import { workloadsOf } from "../controllers/workloads.ts";
import { DecisionBook, decisionBound } from "../decisions/decision-book.ts";
import type { LeaderElector } from "../election/leader-elector.ts";
import type { EventAction } from "../execution/actions.ts";
import { EventRecorder } from "../execution/event-recorder.ts";
import type { Term } from "../execution/fence.ts";
import { CurrentTerm } from "../leading/current-term.ts";
import { Fitness, type WatchedBoard } from "../leading/fitness.ts";
import { peersOf } from "../leading/peers.ts";
import { TermWork } from "../leading/term-work.ts";
import type { Caches } from "../loop/site-view.ts";
import type { CounterBook } from "../site/counter-book.ts";
import type { AgentParts } from "../status/parts.ts";
import { announcedBy } from "../witness/announcement.ts";
import { agentParts } from "./agent-parts.ts";
import { isLedByCopy } from "./collision.ts";
import type { Edges } from "./edges.ts";
import { type Election, electionOf, leaderCallbacks } from "./election.ts";
import { type Execution, executionOf } from "./execution.ts";
import { seatOf } from "./seat.ts";
import { type SiteCaches, siteCaches } from "./site-caches.ts";
import { type SiteConnection, siteConnection } from "./site-connection.ts";
import { type LanWitness, otherLeader, witnessOf } from "./witness.ts";

/**
 * The whole object graph of the agent. The constructor builds it in one direction: each part uses only parts above it.
 * `current`, which holds the current term, comes first, because many parts read it or enqueue keys in its loops, and
 * the part that fills it (`work`) needs all of those.
 */
export class Agent {
  /**
   * For companions, which use it to read objects that no controller reads, and objects that a cold standby does not
   * cache.
   */
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly elector: LeaderElector;
  /** The operations of commands on the site and on this board's Node. */
  readonly siteControls: AgentSiteControls;
  readonly commandCounters: CounterBook;
  readonly decisions: DecisionBook;
  /** The book of controllers in shadow mode or of the compared policy; undefined if there are none. */
  readonly #shadowDecisions: DecisionBook | undefined;
  readonly #edges: Edges;
  readonly #openedAt: Instant;
  readonly #current: CurrentTerm;
  readonly #fitness: Fitness;
  readonly #api: SiteConnection;
  readonly #events: EventRecorder;
  readonly #election: Election;
  readonly #site: SiteCaches;
  readonly #witness: LanWitness | undefined;
  readonly #execution: Execution;
  readonly #work: TermWork;

  constructor(ambient: Ambient, edges: Edges) {
    const { config, bootId, controllers, barred, renewConnection, statusChanged } = edges;
    this.#edges = edges;
    this.#openedAt = ambient.clock.now();

    const seat = seatOf(ambient, edges);
    const current = new CurrentTerm(ambient.clock, statusChanged);
    const fitness = new Fitness(ambient, { leader: config.leader, terms: seat.leaderMemo, barred });
    const api = siteConnection(ambient, edges, { seat, current });
    const events = new EventRecorder(ambient, { client: api.client, host: config.board.name });
    const announce = (event: EventAction, under: Term): void => events.record(event, under);
    const election = electionOf(ambient, edges, { seat, current, fitness, api, events });
    const { elector, holds, valve } = election;
    const site = siteCaches(ambient, edges, { seat, current, connection: api, elector, holds });
    const { caches, uncontested } = site;
    const pretence = pretenceOf(config);
    fitness.attachPeers(() => peersOf(site.informers.informer(nodes), config.board.node));
    const stories = {
      log: new DecisionLog(edges.folder.state.database, decisionBound),
      board: config.board.name,
      bootId,
    };
    const shadowDecisions = pretence && new DecisionBook(ambient, { ...stories, pretence });
    const decisions = new DecisionBook(ambient, { ...stories, shadow: shadowDecisions });
    const witness = witnessOf(ambient, edges, {
      leader: () => otherLeader(elector.view(), config.board.node),
      read: async (name, signal) => announcedBy(await api.client.get(nodes, { name, metadataOnly: true }, signal)),
    });
    const questioner = witness?.questioner;
    const execution = executionOf(ambient, edges, {
      api,
      events,
      current,
      holds,
      caches,
      uncontested,
      decisions,
      shadowDecisions,
      valve,
      questioner,
    });
    const workloads = workloadsOf(config);
    const shared = { config, client: api.client, current, elector, holds, valve, ...execution };
    const work = new TermWork(ambient, {
      ...seat,
      ...site,
      ...shared,
      history: api.history,
      failing: api.failing,
      link: api.link,
      decisions,
      questioner,
      bootId,
      fitness,
      workloads,
      controllers,
      renewConnection,
      statusChanged,
    });
    this.siteControls = new AgentSiteControls({ ambient, ...shared, caches: uncontested, announce, statusChanged });

    this.client = api.client;
    this.caches = caches;
    this.elector = elector;
    this.commandCounters = election.counters;
    this.#current = current;
    this.#fitness = fitness;
    this.#api = api;
    this.#events = events;
    this.#election = election;
    this.#site = site;
    this.decisions = decisions;
    this.#shadowDecisions = shadowDecisions;
    this.#witness = witness;
    this.#execution = execution;
    this.#work = work;
  }

  /** Runs until the signal aborts, then stops the controllers, releases the Lease and writes everything to disk. */
  async run(signal: AbortSignal): Promise<void> {
    const { home, informers } = this.#site;
    const callbacks = leaderCallbacks(this.#election, this.#work);
    const tasks = new TaskGroup(signal);
    tasks.start("events", (inner) => this.#events.run(inner));
    tasks.start("election", (inner) => this.elector.run(inner, callbacks));
    tasks.start("fitness", (inner) => this.#fitness.run(inner));
    tasks.start("decisions", (inner) => this.decisions.run(inner));
    const shadowed = this.#shadowDecisions;
    if (shadowed) tasks.start("shadow decisions", (inner) => shadowed.run(inner));
    const { answerer, leaderCalibration } = this.#witness ?? {};
    if (answerer) tasks.start("answers", (inner) => answerer.run(inner));
    if (leaderCalibration) tasks.start("calibration", (inner) => leaderCalibration.run(inner));
    tasks.start("history", (inner) => this.#api.history.untilRestored(inner));
    if (this.#edges.config.standby === "warm") tasks.start("informers", (inner) => home.listen(inner));
    await tasks.join();
    try {
      this.decisions.flush();
      shadowed?.flush();
    } finally {
      // The caches are written last, because releasing the Lease proves that the server still has the history that they
      // contain.
      informers.storeProofs();
    }
  }

  /** How far the API server's clock is ahead of this board's clock; undefined before the first response with a date. */
  get clockSkew(): Millis | undefined {
    return this.#api.link.skew;
  }

  /** Connects the companion that watches this board's health. Call it before `run`. */
  heed(self: WatchedBoard): void {
    this.#fitness.attachBoardWatch(self);
  }

  /** Why this board could not lead well, even if no other board could take over; undefined if it could. */
  get unwell(): string | undefined {
    return this.#fitness.unwell;
  }

  /**
   * The text in which this board's Node announces how the board answers on the LAN; undefined if the board gives no
   * answers.
   */
  announcement(): string | undefined {
    return this.#witness?.announcement();
  }

  /** This board's Node from the cache; undefined while no watch keeps it current, or if the cache does not have it. */
  ownNode(): Node | undefined {
    const { home, informers } = this.#site;
    return home.isListening ? informers.informer(nodes).lister.get(this.#edges.config.board.node) : undefined;
  }

  /** Whether the site's Lease shows that another process with this board's name leads. */
  isLedByCopy(now: Instant): boolean {
    return isLedByCopy(this.elector.view(), this.#edges.config.board.name, now);
  }

  /** The progress of the loops that must never stall. */
  progress(now: Instant): readonly Progress[] {
    return [this.elector.progress(), ...this.#current.loops.map((loop) => loop.progress(now))];
  }

  /** Frees memory that holds copies or derived data; it is filled again when needed. */
  shed(): void {
    this.#site.informers.shed();
    this.#edges.folder.cache.database.shrink();
  }

  /** The agent's parts of the status. */
  parts(now: Instant): AgentParts {
    const [current, work, openedAt] = [this.#current, this.#work, this.#openedAt];
    const built = {
      decisions: this.decisions,
      ...this.#edges,
      ...this.#api,
      ...this.#election,
      ...this.#site,
      ...this.#execution,
    };
    return agentParts({ ...built, witness: this.#witness, current, work, openedAt }, now);
  }
}
