import type { KubeObject } from "../../agent/api/meta.ts";
import type { Resource } from "../../agent/api/resources.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import { SystemClock } from "../../agent/base/clock.ts";
import { noopLogger } from "../../agent/base/logger.ts";
import { SystemRandom } from "../../agent/base/random.ts";
import { KubeconfigCredentials } from "../../agent/client/credentials/kubeconfig-credentials.ts";
import { KubeClient } from "../../agent/client/kube-client.ts";
import { RequestLimiter } from "../../agent/client/request-limiter.ts";
import { Traffic } from "../../agent/client/traffic.ts";
import { HttpTransport } from "../../agent/client/transport/http-transport.ts";
import { defaultHealth } from "../../agent/client/transport/http2-wire.ts";
import type { Action, EventAction } from "../../agent/execution/actions.ts";
import { EventRecorder } from "../../agent/execution/event-recorder.ts";
import { Executor } from "../../agent/execution/executor.ts";
import type { Term } from "../../agent/execution/fence.ts";
import type { LateLink, LateRequest } from "./links/late-link.ts";

/**
 * The writing half of an agent, over a link that can delay requests. It sends the program's own requests but makes no
 * decisions, so that a test can make it send writes that a current leader would not.
 */
export class FormerLeader {
  readonly ambient: Ambient = { clock: new SystemClock(), random: new SystemRandom(), log: noopLogger };
  readonly client: KubeClient;
  readonly #link: LateLink;
  readonly #transport: HttpTransport;
  readonly #executor: Executor;
  readonly #recorder: EventRecorder;
  readonly #end = new AbortController();
  readonly #term: Term;

  constructor(kubeconfig: string, link: LateLink) {
    this.#link = link;
    this.#term = { number: 1, signal: this.#end.signal, standsAt: () => true };
    this.#transport = new HttpTransport(this.ambient, {
      credentials: new KubeconfigCredentials(this.ambient, { file: kubeconfig, context: undefined, environment: {} }),
      proxies: { proxy: undefined, except: undefined },
      health: defaultHealth,
      timeout: 10_000,
    });
    this.client = new KubeClient(this.ambient, {
      transport: this.#transport.send,
      traffic: new Traffic(),
      limiter: new RequestLimiter(this.ambient, { qps: 1000, burst: 1000 }),
      timeouts: { read: 10_000, list: 10_000, watch: 10_000, write: 600_000 },
      userAgent: "siteward/former",
    });
    this.#recorder = new EventRecorder(this.ambient, { client: this.client, host: "former" });
    this.#executor = new Executor(this.ambient, { client: this.client, events: this.#recorder, inflight: 16 });
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Reads an object, as before a decision. */
  async read<T extends KubeObject>(resource: Resource<T>, name: string, namespace?: string): Promise<T> {
    return this.client.get(resource, namespace === undefined ? { name } : { name, namespace }, this.#end.signal);
  }

  /** Sends the decided actions; the first matching request is held, and those that depend on it are never sent. */
  async send(actions: readonly Action[], matches: (request: LateRequest) => boolean) {
    return this.holding(matches, () => this.#executor.execute(actions, this.#term));
  }

  async say(event: EventAction, matches: (request: LateRequest) => boolean) {
    return this.holding(matches, async () => {
      this.#recorder.record(event, this.#term);
      await this.#recorder.run(this.#end.signal);
    });
  }

  /** Any other act that ends in a write. */
  async holding(matches: (request: LateRequest) => boolean, work: () => Promise<unknown>) {
    const held = this.#link.hold(matches);
    const failed = work().then(
      (outcome) => Promise.reject(new Error(`nothing was held: ${JSON.stringify(outcome)}`)),
      (error: unknown) => Promise.reject(error),
    );
    failed.catch(() => undefined);
    return Promise.race([held, failed]);
  }

  close(): void {
    this.#end.abort(new Error("the former leader is gone"));
    this.#transport.close();
  }
}
