import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { assets, type KubeCluster } from "../support/kube/kube-cluster.ts";
import { soon } from "./soon.ts";

const controllers = [
  "node-lifecycle-controller",
  "taint-eviction-controller",
  "pod-garbage-collector-controller",
  "daemonset-controller",
  "endpoints-controller",
  "endpointslice-controller",
  "endpointslice-mirroring-controller",
];

/** kube-controller-manager with the controllers that do our leader's work, on the same API server. */
export class Peer {
  readonly #cluster: KubeCluster;
  #child: ChildProcess | undefined;

  constructor(cluster: KubeCluster) {
    this.#cluster = cluster;
  }

  /** Answers with the seconds until it says that its caches are synced. */
  async start(): Promise<number> {
    const port = await freePort();
    const file = path.join(this.#cluster.dir, "kcm.log");
    const log = openSync(file, "w");
    const flags = [
      "--leader-elect=false",
      `--controllers=${controllers.join(",")}`,
      "--bind-address=127.0.0.1",
      `--cert-dir=${path.join(this.#cluster.dir, "kcm-certs")}`,
    ];
    const args = [`--kubeconfig=${this.#cluster.kubeconfig}`, `--secure-port=${port}`, ...flags];
    this.#child = spawn(path.join(assets ?? "", "kube-controller-manager"), args, { stdio: ["ignore", log, log] });
    closeSync(log);
    const synced = (): number => readFileSync(file, "utf8").split('"Caches are synced"').length - 1;
    return soon("kube-controller-manager has synced its caches", () => synced() >= controllers.length, 60);
  }

  memory(): { readonly rss: number; readonly anonymous: number; readonly peak: number } {
    const text = readFileSync(`/proc/${this.#child?.pid}/status`, "utf8");
    const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0) / 1024;
    return { rss: field("VmRSS"), anonymous: field("RssAnon"), peak: field("VmHWM") };
  }

  /** Megabytes that its open connections have received, as the kernel counts; undefined where nobody tells (no `ss`). */
  received(): number | undefined {
    const { stdout, status } = spawnSync("ss", ["-tinpOH"], { encoding: "utf8" });
    if (status !== 0) return undefined;
    const own = stdout.split("\n").filter((line) => line.includes(`pid=${this.#child?.pid},`));
    return own.reduce((sum, line) => sum + Number(/ bytes_received:(\d+)/.exec(line)?.[1] ?? 0), 0) / 1e6;
  }

  cpu(): number {
    const fields = readFileSync(`/proc/${this.#child?.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as net.AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
