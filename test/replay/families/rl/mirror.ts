import type { Namespace } from "../../../../agent/api/core.ts";
import { namespaces, resourceName } from "../../../../agent/api/resources.ts";
import type { Millis } from "../../../../agent/base/clock.ts";
import { sentenceOf } from "../../../../agent/base/errors.ts";
import { KubeClient } from "../../../../agent/client/kube-client.ts";
import { RequestLimiter } from "../../../../agent/client/request-limiter.ts";
import { Traffic } from "../../../../agent/client/traffic.ts";
import { kindOf } from "../../../../agent/informer/kinds/kinds.ts";
import { ListTurns } from "../../../../agent/informer/list-turns.ts";
import { SharedInformer } from "../../../../agent/informer/shared-informer.ts";
import { DeltaFIFO } from "../../../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../../../storage/indexer/indexer.ts";
import type { Change } from "../../../../storage/object.ts";
import { cacheMigrations } from "../../../../storage/schema.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { inMemory } from "../../in-memory.ts";
import { shownObject } from "../../object-form.ts";
import { CaseTime } from "../../site/case-time.ts";
import type { Config, Event, Given } from "./forms.ts";
import { InterruptionLog } from "./interruption-log.ts";
import { Script } from "./script.ts";
import { ScriptedServer } from "./server.ts";

const name = resourceName(namespaces);
const timeouts = { read: 30_000, list: 30_000, watch: 30_000, write: 30_000 };
const room = { deltasPerObject: 16, decodedBytes: 1_000_000 };

interface Notification {
  readonly atMs: Millis;
  readonly key: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** One shared informer, with its reflector, client and cache, against a scripted server. */
export class Mirror {
  readonly clock: VirtualClock;
  readonly server: ScriptedServer;
  readonly notified: Notification[] = [];
  ended: string | undefined;
  readonly #script = new Script();
  readonly #log: InterruptionLog;
  readonly #config: Config;
  readonly #database = inMemory(cacheMigrations);
  #informer: SharedInformer<Namespace>;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(config: Config, given: Given) {
    this.clock = new VirtualClock(new CaseTime(config.startTime).begin);
    this.#log = new InterruptionLog(this.clock);
    this.#config = config;
    this.#script.add(given);
    this.server = new ScriptedServer(this.clock, this.#script, config);
    if (given.stored) this.#store(given.stored);
    this.#informer = this.#start();
  }

  close(): void {
    this.#stop.abort(new Error("the case is over"));
    this.#database.close();
  }

  get interruptions(): InterruptionLog["interruptions"] {
    return this.#log.interruptions;
  }

  get state(): object {
    const { position, synced, live, depth, lists, watches, problem, rejected } = this.#informer.stats();
    const store = [...this.#informer.lister.list()].map(shownObject);
    return { store, resourceVersion: position, synced, live, depth, lists, watches, rejected: rejected.count, problem };
  }

  async happen(atMs: Millis, event: Event): Promise<void> {
    await this.clock.approach(atMs - this.clock.now().mono);
    await this.#happen(event);
    await this.clock.advance(0);
  }

  async #happen(event: Event): Promise<void> {
    switch (event.do) {
      case "say":
        this.server.say(event.events);
        break;
      case "end":
        this.server.end(event.end ?? "close");
        break;
      case "answer":
        this.#script.add(event);
        break;
      case "stop":
        await this.#halt();
        break;
      case "restart":
        await this.#halt();
        this.#informer = this.#start();
        break;
      case "look":
        break;
      default:
        event satisfies never;
    }
  }

  async #halt(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#running;
    this.#informer.flush();
  }

  #start(): SharedInformer<Namespace> {
    const { jitter = 0, pageSize = 500, watchStallMs = 90_000 } = this.#config;
    const ambient = { clock: this.clock, random: { next: () => jitter, uuid: () => "" }, log: this.#log };
    const client = new KubeClient(ambient, {
      transport: this.server.send,
      traffic: new Traffic(),
      limiter: new RequestLimiter(ambient, { qps: 20, burst: 30 }),
      timeouts,
      userAgent: "siteward/replay",
    });
    const informer = new SharedInformer(ambient, {
      ...room,
      name,
      kind: kindOf(namespaces),
      selection: {},
      database: this.#database,
      client,
      turns: new ListTurns(),
      pageSize,
      limits: { stall: watchStallMs, blip: 10_000 },
    });
    informer.onChange((changes) => this.#tell(changes));
    this.#stop = new AbortController();
    this.ended = undefined;
    this.#running = informer.run(this.#stop.signal).catch((error: unknown) => {
      this.ended = sentenceOf(error);
    });
    return informer;
  }

  #tell(changes: readonly Change<Namespace>[]): void {
    const atMs = Math.round(this.clock.now().mono);
    for (const { key, before, after } of changes) {
      this.notified.push({ atMs, key, before: before && shownObject(before), after: after && shownObject(after) });
    }
  }

  /** The state that an earlier run of the informer left. */
  #store({ objects, resourceVersion }: NonNullable<Given["stored"]>): void {
    const database = this.#database;
    const indexer = new Indexer<Namespace>({ database, resource: name, indices: {}, decodedBytes: room.decodedBytes });
    const fifo = new DeltaFIFO({ database, resource: name, indexer, deltasPerObject: room.deltasPerObject });
    const replacement = fifo.replace();
    replacement.page(objects);
    replacement.commit(resourceVersion);
    fifo.pop(objects.length + 1);
  }
}
