import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import https from "node:https";
import net from "node:net";
import os from "node:os";
import path from "node:path";

/** The folder with etcd, kube-apiserver, kubectl and kube-controller-manager, by envtest's convention. */
export const assets = process.env.KUBEBUILDER_ASSETS;

/** The reason why suites with real servers are skipped; `undefined` if they run. */
export function missingAssets(): string | undefined {
  if (assets === undefined) return "KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver";
  const missing = ["etcd", "kube-apiserver"].filter((name) => !existsSync(path.join(assets, name)));
  return missing.length > 0 ? `${assets} holds no ${missing.join(" and no ")}` : undefined;
}

/** One request, as recorded in the API server's audit log. */
export interface Audited {
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent: string;
  readonly stageTimestamp: string;
  readonly requestReceivedTimestamp: string;
  readonly responseStatus?: { readonly code: number };
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly subresource?: string;
  };
}

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/**
 * A real etcd and kube-apiserver on loopback, for one test file. All their files are in a folder that is removed with
 * them.
 */
export class KubeCluster {
  readonly dir: string;
  readonly kubeconfig: string;
  /** A kubeconfig for a user called "agent", who has no permissions until they are granted. */
  readonly agentToken = randomBytes(16).toString("hex");
  readonly #token = randomBytes(16).toString("hex");
  readonly #flags: Readonly<Record<string, string>>;
  readonly #programs: ChildProcess[] = [];
  readonly #connections = new https.Agent({ keepAlive: true, maxSockets: 16 });
  #ports: readonly [api: number, etcd: number, peer: number] = [0, 0, 0];
  #ca = Buffer.alloc(0);

  /** `flags`: more of the API server's. */
  constructor(flags: Readonly<Record<string, string>> = {}) {
    this.#flags = flags;
    this.dir = mkdtempSync(path.join(os.tmpdir(), "siteward-kube-"));
    this.kubeconfig = path.join(this.dir, "kubeconfig");
  }

  get server(): string {
    return `https://127.0.0.1:${this.#ports[0]}`;
  }

  /** Of the API server's store. */
  get etcd(): string {
    return `http://127.0.0.1:${this.#ports[1]}`;
  }

  async start(): Promise<void> {
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs1", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    writeFileSync(this.#file("service-accounts.key"), privateKey, { mode: 0o600 });
    const tokens = `${this.#token},admin,admin,"system:masters"\n${this.agentToken},agent,agent\n`;
    writeFileSync(this.#file("tokens.csv"), tokens, { mode: 0o600 });
    const rules = [
      { level: "None", users: ["system:apiserver"] },
      { level: "Metadata", omitStages: ["RequestReceived"] },
    ];
    writeFileSync(this.#file("audit.yaml"), JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }));
    mkdirSync(this.#file("etcd"));
    this.#ports = await freePorts();
    this.#startEtcd();
    await this.startApi();
    writeFileSync(this.kubeconfig, this.kubeconfigFor(this.server), { mode: 0o600 });
  }

  /** A kubeconfig for the same cluster by another route, for example through a relay, or for another user. */
  kubeconfigFor(server: string, user: object = { token: this.#token }, ca = this.#ca.toString("utf8")): string {
    const authority = Buffer.from(ca).toString("base64");
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster: { server, "certificate-authority-data": authority } }],
      users: [{ name: "test", user }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
      "current-context": "test",
    });
  }

  /** An administrator's kubeconfig, by another route. */
  writeKubeconfig(file: string, server: string, ca: string): void {
    writeFileSync(file, this.kubeconfigFor(server, undefined, ca), { mode: 0o600 });
  }

  /** Grants the user "agent" these permissions, in the whole cluster. */
  async grant(rules: readonly PolicyRule[]): Promise<void> {
    const group = "rbac.authorization.k8s.io";
    const at = (kind: string): string => `/apis/${group}/v1/${kind}/agent`;
    const named = (kind: string): object => ({ apiVersion: `${group}/v1`, kind, metadata: { name: "agent" } });
    // For these two kinds, PUT creates what does not exist.
    await this.request("PUT", at("clusterroles"), { ...named("ClusterRole"), rules });
    await this.request("PUT", at("clusterrolebindings"), {
      ...named("ClusterRoleBinding"),
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "agent" },
      subjects: [{ apiGroup: group, kind: "User", name: "agent" }],
    });
  }

  async startApi(): Promise<void> {
    const [api, etcd] = this.#ports;
    this.#run("kube-apiserver", this.#apiFlags(api, etcd));
    await this.#ready(api);
  }

  /** Starts a second API server with the same certificate, which connects to the store at `etcd`. Returns its port. */
  async startSecondApi(etcd: number): Promise<number> {
    const [api] = await freePorts();
    this.#run("kube-apiserver", {
      ...this.#apiFlags(api, etcd),
      "tls-cert-file": this.#file("certs/apiserver.crt"),
      "tls-private-key-file": this.#file("certs/apiserver.key"),
      "audit-log-path": this.#file("audit-second.log"),
    });
    await this.#ready(api);
    return api;
  }

  #apiFlags(api: number, etcd: number): Readonly<Record<string, string>> {
    return {
      "etcd-servers": `http://127.0.0.1:${etcd}`,
      "cert-dir": this.#file("certs"),
      "bind-address": "127.0.0.1",
      "advertise-address": "127.0.0.1",
      "endpoint-reconciler-type": "none",
      "secure-port": String(api),
      "service-account-issuer": "https://kubernetes.default.svc",
      "service-account-signing-key-file": this.#file("service-accounts.key"),
      "service-account-key-file": this.#file("service-accounts.key"),
      "token-auth-file": this.#file("tokens.csv"),
      "authorization-mode": "RBAC",
      "disable-admission-plugins": "ServiceAccount",
      "service-cluster-ip-range": "10.96.0.0/16",
      "audit-policy-file": this.#file("audit.yaml"),
      "audit-log-path": this.#file("audit.log"),
      ...this.#flags,
    };
  }

  /** Kills the API server that was started last, like a crash. */
  async killApi(): Promise<void> {
    const api = this.#programs.pop();
    if (api) await end(api, "SIGKILL");
  }

  /** Copies the current store under a name. The servers are down meanwhile. */
  async backUp(name: string): Promise<void> {
    await this.#down();
    cpSync(this.#file("etcd"), this.#file(`backup-${name}`), { recursive: true });
    await this.#up();
  }

  /** Restores the store to the copy made under this name. */
  async restore(name: string): Promise<void> {
    await this.#down();
    this.#putBack(name);
    await this.#up();
  }

  /** Restores the store, and leaves the API server running, which goes on with what it has in its watch cache. */
  async restoreStoreAlone(name: string): Promise<void> {
    const [etcd, ...others] = this.#programs.splice(0);
    if (etcd) await end(etcd, "SIGKILL");
    this.#putBack(name);
    this.#startEtcd();
    this.#programs.push(...others);
  }

  #putBack(name: string): void {
    rmSync(this.#file("etcd"), { recursive: true });
    cpSync(this.#file(`backup-${name}`), this.#file("etcd"), { recursive: true });
  }

  /** The store's count of writes. */
  async revision(): Promise<number> {
    const { metadata } = await this.request<{ metadata: { resourceVersion: string } }>("GET", "/api/v1/configmaps");
    return Number(metadata.resourceVersion);
  }

  async #down(): Promise<void> {
    for (const program of this.#programs.splice(0).reverse()) await end(program, "SIGKILL");
  }

  async #up(): Promise<void> {
    this.#startEtcd();
    await this.startApi();
  }

  /** Suspends etcd: the API server answers from memory, and nothing changes. */
  suspendEtcd(): void {
    this.#programs[0]?.kill("SIGSTOP");
  }

  resumeEtcd(): void {
    this.#programs[0]?.kill("SIGCONT");
  }

  /** Compacts the history up to now, as happens every five minutes. */
  async compact(): Promise<void> {
    const { header } = await this.#ask("range", { key: Buffer.from("none").toString("base64") });
    await this.#ask("compaction", { revision: header?.revision, physical: true });
  }

  /**
   * Moves the store as `etcdutl snapshot restore --bump-revision --mark-compacted` does, as far as a client can see:
   * nothing is lost, the revision jumps ahead, and the earlier history is compacted.
   */
  async move(bump: number): Promise<void> {
    await this.#down();
    this.#startEtcd();
    const put = { key: Buffer.from("bump").toString("base64"), value: "" };
    const answers = async (): Promise<boolean> => {
      try {
        await this.#ask("put", put);
        return true;
      } catch {
        return false;
      }
    };
    while (!(await answers())) await new Promise((resolve) => setTimeout(resolve, 100));
    for (let round = 0; round < bump; round++) await this.#ask("put", put);
    await this.compact();
    await this.startApi();
  }

  async #ask(what: string, body: object): Promise<Record<string, { revision?: string }>> {
    const [, etcd] = this.#ports;
    const at = `http://127.0.0.1:${etcd}/v3/kv/${what}`;
    const answer = await fetch(at, { method: "POST", body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd ${what}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, { revision?: string }>;
  }

  audit(): readonly Audited[] {
    const text = existsSync(this.#file("audit.log")) ? readFileSync(this.#file("audit.log"), "utf8") : "";
    return text
      .split("\n")
      .filter((line) => line.endsWith("}"))
      .map((line) => JSON.parse(line) as Audited);
  }

  /** One request, as the administrator unless another token is given. */
  async request<T>(
    method: string,
    url: string,
    body?: unknown,
    type = "application/json",
    token = this.#token,
  ): Promise<T> {
    const answer = await call(
      `${this.server}${url}`,
      {
        method,
        agent: this.#connections,
        ca: this.#ca,
        headers: { authorization: `Bearer ${token}`, accept: "application/json", "content-type": type },
      },
      body,
    );
    if (answer.status >= 400) throw new Error(`${method} ${url}: ${answer.status} ${answer.text.slice(0, 400)}`);
    return JSON.parse(answer.text) as T;
  }

  async stop(): Promise<void> {
    this.#connections.destroy();
    for (const program of this.#programs.splice(0).reverse()) await end(program, "SIGTERM");
    rmSync(this.dir, { recursive: true, force: true });
  }

  #startEtcd(): void {
    const [, etcd, peer] = this.#ports;
    this.#run("etcd", {
      "data-dir": this.#file("etcd"),
      "listen-client-urls": `http://127.0.0.1:${etcd}`,
      "advertise-client-urls": `http://127.0.0.1:${etcd}`,
      "listen-peer-urls": `http://127.0.0.1:${peer}`,
      "initial-advertise-peer-urls": `http://127.0.0.1:${peer}`,
      "initial-cluster": `default=http://127.0.0.1:${peer}`,
      "unsafe-no-fsync": "true",
      "log-level": "error",
    });
  }

  #run(name: string, flags: Readonly<Record<string, string>>): void {
    const log = openSync(this.#file(`${name}.log`), "a");
    const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    this.#programs.push(spawn(path.join(assets ?? "", name), args, { stdio: ["ignore", log, log] }));
    closeSync(log);
  }

  async #ready(api: number): Promise<void> {
    for (let tries = 0; tries < 300; tries++) {
      const dead = this.#programs.find(({ exitCode }) => exitCode !== null);
      if (dead) throw new Error(`${dead.spawnfile} ended with ${dead.exitCode}: ${this.#tail("kube-apiserver")}`);
      const certificate = this.#file("certs/apiserver.crt");
      if (existsSync(certificate)) {
        this.#ca = readFileSync(certificate);
        const answer = await call(`https://127.0.0.1:${api}/readyz`, {
          ca: this.#ca,
          headers: { authorization: `Bearer ${this.#token}` },
        }).catch(() => undefined);
        if (answer?.status === 200) return;
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error(`kube-apiserver is not ready after a minute: ${this.#tail("kube-apiserver")}`);
  }

  #tail(name: string): string {
    return readFileSync(this.#file(`${name}.log`), "utf8")
      .split("\n")
      .slice(-12)
      .join("\n");
  }

  #file(name: string): string {
    return path.join(this.dir, name);
  }
}

function call(url: string, options: https.RequestOptions, body?: unknown): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = https.request(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function end(program: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const late = setTimeout(() => program.kill("SIGKILL"), 8000);
    program.once("exit", () => {
      clearTimeout(late);
      resolve();
    });
    program.kill(signal);
  });
}

async function freePorts(): Promise<readonly [number, number, number]> {
  const servers = await Promise.all(
    [0, 1, 2].map(
      () =>
        new Promise<net.Server>((resolve) => {
          const server = net.createServer().listen(0, "127.0.0.1", () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => (server.address() as net.AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return [ports[0] ?? 0, ports[1] ?? 0, ports[2] ?? 0];
}
