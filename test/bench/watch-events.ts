import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Pod } from "../../agent/api/core.ts";
import { pods } from "../../agent/api/resources.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import { SystemClock } from "../../agent/base/clock.ts";
import { SystemRandom } from "../../agent/base/random.ts";
import { KubeClient } from "../../agent/client/kube-client.ts";
import { RequestLimiter } from "../../agent/client/request-limiter.ts";
import { Traffic } from "../../agent/client/traffic.ts";
import { HttpTransport } from "../../agent/client/transport/http-transport.ts";
import { defaultHealth } from "../../agent/client/transport/http2-wire.ts";
import { kindOf } from "../../agent/informer/kinds/kinds.ts";
import { ListTurns } from "../../agent/informer/list-turns.ts";
import { SharedInformer } from "../../agent/informer/shared-informer.ts";
import { Database } from "../../storage/database/database.ts";
import { cacheMigrations } from "../../storage/schema.ts";
import { plainAccess } from "../support/kube/plain-access.ts";
import { RecordingLog } from "../support/recording-log.ts";
import type { Order } from "./event-source.ts";
import { type Bench, type BenchContext, type Figure, median } from "./figure.ts";
import { decodedPods, shippedPragmas } from "./shipped-cache.ts";

const objects = 2000;
const steadyRate = 500;

/** Pod events of 11 KB from a socket through client, Reflector and a cache on disk to a listener. */
export const watchEvents: Bench = {
  name: "watch-events",
  summary: `pod events of 11 KB JSON from a socket (HTTP/1.1) to a listener, durable: at most, and at ${steadyRate}/s`,
  kube: false,
  run: measure,
};

async function* measure({ seed, runs, quick, say }: BenchContext): AsyncGenerator<Figure> {
  const rates: number[] = [];
  const lags: number[] = [];
  const blocks: number[] = [];
  for (let run = 0; run < runs; run++) {
    const mirror = new Mirror();
    try {
      await mirror.start(seed + run);
      await mirror.take({ count: objects });
      const blocked = monitorEventLoopDelay({ resolution: 1 });
      blocked.enable();
      const count = quick ? 10_000 : 40_000;
      const begun = performance.now();
      await mirror.take({ count });
      rates.push((count * 1000) / (performance.now() - begun));
      blocked.disable();
      blocks.push(blocked.max / 1e6);
      say(`run ${run + 1}: ${Math.round(rates.at(-1) ?? 0)}/s`);
      lags.push(...(await mirror.take({ count: 5 * steadyRate, rate: steadyRate })));
    } finally {
      await mirror.stop();
    }
  }
  lags.sort((a, b) => a - b);
  const share = (part: number): number => lags[Math.floor(lags.length * part)] ?? Number.NaN;
  yield { what: "watch events of 11 KB to a listener", value: median(rates), unit: "/s", target: 4000, better: "more" };
  yield {
    what: `lag at ${steadyRate}/s, p50`,
    value: share(0.5),
    unit: "ms",
    note: "what comes within 50 ms is one write",
  };
  yield { what: `lag at ${steadyRate}/s, p95`, value: share(0.95), unit: "ms" };
  yield { what: "longest block of the event loop", value: Math.max(...blocks), unit: "ms", target: 50 };
}

/** An informer of pods with its cache on disk, and the server that it watches, in a process of its own. */
class Mirror {
  readonly #dir = mkdtempSync(path.join(os.tmpdir(), "siteward-bench-"));
  readonly #stop = new AbortController();
  readonly #ambient: Ambient = {
    clock: new SystemClock(),
    random: new SystemRandom(),
    log: new RecordingLog(),
  };
  #server: ChildProcess | undefined;
  #transport: HttpTransport | undefined;
  #database: Database | undefined;
  #informer: SharedInformer<Pod> | undefined;
  #running: Promise<void> | undefined;
  #sent = 0;

  async start(seed: number): Promise<void> {
    const script = path.join(import.meta.dirname, "event-source.ts");
    const server = fork(script, [String(objects), String(seed)], { stdio: "inherit" });
    this.#server = server;
    const [port] = await once(server, "message");
    const access = plainAccess(`http://127.0.0.1:${port}`);
    const transport = new HttpTransport(this.#ambient, {
      credentials: { access: async () => access },
      proxies: { proxy: undefined, except: undefined },
      health: defaultHealth,
      timeout: 10_000,
    });
    const client = new KubeClient(this.#ambient, {
      transport: transport.send,
      traffic: new Traffic(),
      limiter: new RequestLimiter(this.#ambient, { qps: 20, burst: 30 }),
      timeouts: { read: 30_000, list: 30_000, watch: 30_000, write: 30_000 },
      userAgent: "siteward/bench",
    });
    const database = Database.open({
      file: path.join(this.#dir, "cache.db"),
      migrations: cacheMigrations,
      pragmas: shippedPragmas,
    });
    const informer = new SharedInformer(this.#ambient, {
      kind: kindOf(pods),
      selection: {},
      name: "pods",
      database,
      client,
      turns: new ListTurns(),
      pageSize: 500,
      deltasPerObject: 16,
      decodedBytes: decodedPods,
      limits: { stall: 90_000, blip: 10_000 },
    });
    this.#transport = transport;
    this.#database = database;
    this.#informer = informer;
    this.#running = informer.run(this.#stop.signal);
    await once(server, "message");
  }

  /** Lets the server send, and answers with the lag of each event once all were told and are in the file. */
  take(order: Order): Promise<readonly number[]> {
    const lags: number[] = [];
    const { promise, resolve } = Promise.withResolvers<readonly number[]>();
    this.#sent += order.count;
    const last = String(this.#sent + 1);
    const end = this.#informer?.onChange((changes) => {
      const now = process.hrtime.bigint();
      for (const { after } of changes) lags.push(Number(now - BigInt(after?.status?.reason ?? 0)) / 1e6);
      if (changes.every(({ after }) => after?.metadata.resourceVersion !== last)) return;
      end?.();
      resolve(lags);
    });
    this.#server?.send(order);
    return promise;
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the bench is over"));
    await this.#running;
    this.#transport?.close();
    this.#database?.close();
    this.#server?.disconnect();
    rmSync(this.#dir, { recursive: true });
  }
}
