import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { SystemClock } from "../../../agent/base/clock.ts";
import type { ApiRequest, ApiResponse } from "../../../simulator/site-api/requests/exchange.ts";
import { serve } from "../../../simulator/site-api/server.ts";
import { SiteApi } from "../../../simulator/site-api/site-api.ts";
import { type AgentOptions, AgentProcess } from "../agent-process.ts";
import type { TlsFront } from "../kube/tls-front.ts";
import { boardName, fill, podName, renew, touch } from "../load.ts";
import { differences } from "../mirrored.ts";
import { RecordingLog } from "../recording-log.ts";
import { SeededRandom } from "../seeded-random.ts";
import { FaultyLink } from "./faulty-link.ts";

export interface Asked {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly status: number;
}

export interface LinkedSiteOptions {
  /** Sections of the agent's configuration. */
  readonly config: Readonly<Record<string, object>>;
  /** Between two heartbeats of a board. */
  readonly beat?: number;
  /** Answers instead of the API server if it has an answer. */
  readonly instead?: (request: ApiRequest) => ApiResponse | undefined;
  /** Wraps the API server, and may change requests and answers. */
  readonly around?: (request: ApiRequest, ask: (request: ApiRequest) => Promise<ApiResponse>) => Promise<ApiResponse>;
  /** The name by which the agent knows the API server. */
  readonly host?: string;
  /** See AgentOptions. */
  readonly through?: readonly string[];
  readonly program?: AgentOptions["program"];
  readonly flags?: AgentOptions["flags"];
  /** Placed in front of the API server, which does not speak TLS. */
  readonly tls?: { readonly front: TlsFront; readonly ca: string };
}

const boards = 3;
const pods = 6;
const clock = new SystemClock();

/** A site whose boards all send heartbeats, and one agent that judges them over a link with faults. */
export class LinkedSite {
  readonly dir = mkdtempSync(path.join(os.tmpdir(), "siteward-link-"));
  readonly asked: Asked[] = [];
  readonly #options: LinkedSiteOptions;
  readonly #api: SiteApi;
  readonly #upkeep = new AbortController();
  #link: FaultyLink | undefined;
  #agent: AgentProcess | undefined;
  readonly #silent = new Set<number>();
  readonly #others: AgentProcess[] = [];
  readonly #links: FaultyLink[] = [];
  #port = 0;
  #timers: NodeJS.Timeout[] = [];
  #server: { close(): Promise<void> } | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: LinkedSiteOptions) {
    this.#options = options;
    const ambient = { clock, log: new RecordingLog(), random: new SeededRandom(1) };
    this.#api = new SiteApi(ambient, { file: path.join(this.dir, "site.db") });
  }

  async start(): Promise<this> {
    this.#ended = this.#api.run(this.#upkeep.signal);
    const handle = (request: ApiRequest): Promise<ApiResponse> => this.#handle(request);
    const server = await serve({ clock, log: new RecordingLog(), handle }, 0, "127.0.0.1");
    this.#server = server;
    this.#port = server.port;
    await fill(this, { nodes: boards, pods, seed: 1 });
    const { tls, host = "127.0.0.1", config, through = [], program, flags } = this.#options;
    this.#link = new FaultyLink(tls ? await tls.front.listen(server.port) : server.port, 7);
    const port = await this.#link.listen();
    const kubeconfig = path.join(this.dir, "kubeconfig");
    writeFileSync(kubeconfig, kubeconfigFor(`${tls ? "https" : "http"}://${host}:${port}`, tls?.ca), { mode: 0o600 });
    const own = { ...(program && { program }), ...(flags && { flags }) };
    this.#agent = new AgentProcess({ dir: this.dir, board: "pi-1", kubeconfig, config, through, ...own });
    this.#beat();
    this.#agent.start();
    return this;
  }

  get link(): FaultyLink {
    if (!this.#link) throw new Error("the site was not started");
    return this.#link;
  }

  get agent(): AgentProcess {
    if (!this.#agent) throw new Error("the site was not started");
    return this.#agent;
  }

  /** One request as the administrator, bypassing the link. */
  async request<T>(method: string, url: string, body?: unknown, type = "application/json"): Promise<T> {
    const answer = await this.#api.handle({
      method,
      path: url,
      headers: { accept: "application/json", "content-type": type },
      signal: new AbortController().signal,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await textOf(answer);
    if (answer.status >= 400) throw new Error(`${method} ${url}: ${answer.status} ${text.slice(0, 400)}`);
    return JSON.parse(text) as T;
  }

  /** Cuts the power of the board with this number. */
  silence(board: number): void {
    this.#silent.add(board);
  }

  /** Starts another agent of the site over the same link. `own`: sections in which its configuration differs. */
  join(board: string, through: readonly string[] = [], own: Readonly<Record<string, object>> = {}): AgentProcess {
    const kubeconfig = path.join(this.dir, "kubeconfig");
    const { config: base, flags } = this.#options;
    const config = { ...base, ...own };
    const agent = new AgentProcess({ dir: this.dir, board, kubeconfig, config, through, ...(flags && { flags }) });
    this.#others.push(agent);
    agent.start();
    return agent;
  }

  /** Starts another agent of the site over a link of its own. */
  async joinApart(
    board: string,
    own: Readonly<Record<string, object>> = {},
  ): Promise<{ readonly agent: AgentProcess; readonly link: FaultyLink }> {
    const link = new FaultyLink(this.#port, 11);
    this.#links.push(link);
    const kubeconfig = path.join(this.dir, `kubeconfig-${board}`);
    writeFileSync(kubeconfig, kubeconfigFor(`http://127.0.0.1:${await link.listen()}`, undefined), { mode: 0o600 });
    const agent = new AgentProcess({
      dir: this.dir,
      board,
      kubeconfig,
      config: { ...this.#options.config, ...own },
    });
    this.#others.push(agent);
    agent.start();
    return { agent, link };
  }

  /** Creates a pod named "patient" on this board that tolerates the board's loss for this many seconds. */
  async tolerate(board: number, tolerationSeconds: number): Promise<void> {
    const tolerations = [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute", tolerationSeconds }].map(
      (toleration) => ({ ...toleration, operator: "Exists" }),
    );
    const containers = [{ name: "main", image: "example/app:1" }];
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "uid-web", controller: true };
    await this.request("POST", "/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "patient", namespace: "default", ownerReferences: [owner] },
      spec: { nodeName: boardName(board), containers, tolerations },
    });
  }

  async hasPod(name: string): Promise<boolean> {
    const { items } = await this.request<{
      items: readonly { metadata: { name: string; deletionTimestamp?: string } }[];
    }>("GET", "/api/v1/namespaces/default/pods");
    return items.some(({ metadata }) => metadata.name === name && metadata.deletionTimestamp === undefined);
  }

  /** A board whose card is a copy of the agent's current one: the same name and the same stored facts. */
  clone(): AgentProcess {
    const dir = path.join(this.dir, "clone");
    const kubeconfig = path.join(this.dir, "kubeconfig");
    cpSync(path.join(this.agent.dir, "state"), path.join(dir, this.agent.board, "state"), { recursive: true });
    const agent = new AgentProcess({ dir, board: this.agent.board, kubeconfig, config: this.#options.config });
    this.#others.push(agent);
    agent.start();
    return agent;
  }

  async taints(board: number): Promise<readonly string[]> {
    const { spec = {} } = await this.request<{ spec?: { taints?: readonly { key: string; effect: string }[] } }>(
      "GET",
      `/api/v1/nodes/${boardName(board)}`,
    );
    return (spec.taints ?? []).map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`);
  }

  /** The agent's acts on boards and pods that were always alive. */
  get harm(): readonly string[] {
    return this.asked
      .filter(
        ({ method, path: at, body }) =>
          (method === "DELETE" && at.includes("/pods/")) ||
          (at.includes("/nodes/") && body.includes("NoExecute")) ||
          at.includes("/eviction"),
      )
      .map(({ method, path: at, body }) => `${method} ${at} ${body.slice(0, 200)}`);
  }

  /** How often a collection was listed; neither later pages nor reads of single objects count. */
  lists(plural: string): number {
    const at = new RegExp(`/${plural}\\?(?!.*(watch=|continue=|limit=1(&|$)))`);
    return this.asked.filter(({ method, path: url, status }) => method === "GET" && status === 200 && at.test(url))
      .length;
  }

  /** How often a watch of a collection was opened. */
  watches(plural: string): number {
    return this.asked.filter(({ path: url }) => url.includes(`/${plural}?`) && url.includes("watch=")).length;
  }

  /**
   * Stops all changes, then the agent, and compares its cache with the API server. Returns the differences.
   */
  async differences(state = path.join(this.agent.dir, "state")): Promise<readonly string[]> {
    this.#still();
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await this.agent.stop();
    return differences(this, path.join(state, "cache.db"));
  }

  async stop(): Promise<void> {
    this.#still();
    for (const agent of this.#others) await agent.stop("SIGKILL");
    await this.#agent?.stop("SIGKILL");
    await this.#link?.close();
    for (const link of this.#links) await link.close();
    await this.#options.tls?.front.close();
    await this.#server?.close();
    this.#upkeep.abort();
    await this.#ended;
    await this.#api.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Boards send heartbeats, and pods are created, changed and deleted, so that an incomplete cache differs. */
  #beat(): void {
    const { beat = 1000 } = this.#options;
    const quietly = (work: Promise<unknown>): void => void work.catch(() => undefined);
    let round = 0;
    const beats = setInterval(() => {
      for (let board = 0; board < boards; board++) if (!this.#silent.has(board)) quietly(renew(this, board));
    }, beat);
    const changes = setInterval(() => {
      round++;
      quietly(touch(this, round % (pods - 1), `round ${round}`));
      const last = `/api/v1/namespaces/default/pods/${podName(pods - 1)}`;
      if (round % 4 === 1) quietly(this.request("DELETE", `${last}?gracePeriodSeconds=0`));
      if (round % 4 === 3) quietly(this.#bringBack());
    }, 3 * beat);
    this.#timers = [beats, changes];
  }

  #bringBack(): Promise<unknown> {
    const metadata = { name: podName(pods - 1), namespace: "default" };
    const spec = { nodeName: boardName(0), containers: [{ name: "main", image: "example/app:1" }] };
    return this.request("POST", "/api/v1/namespaces/default/pods", { apiVersion: "v1", kind: "Pod", metadata, spec });
  }

  #still(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #handle(request: ApiRequest): Promise<ApiResponse> {
    const ask = (asked: ApiRequest): Promise<ApiResponse> => this.#api.handle(asked);
    const { instead, around } = this.#options;
    const answer = instead?.(request) ?? (await (around ? around(request, ask) : ask(request)));
    const { method, path: url, body = "" } = request;
    this.asked.push({ at: performance.now(), method, path: url, body, status: answer.status });
    return answer;
  }
}

async function textOf({ body }: ApiResponse): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

const kubeconfigFor = (server: string, ca?: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "test",
        cluster: { server, ...(ca && { "certificate-authority-data": Buffer.from(ca).toString("base64") }) },
      },
    ],
    users: [{ name: "test", user: {} }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  });
