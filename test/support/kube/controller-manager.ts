import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import { until } from "../agent-process.ts";
import { assets, type KubeCluster } from "./kube-cluster.ts";

/** A real kube-controller-manager beside the site, like one that was not turned off. */
export class ControllerManager {
  readonly #cluster: KubeCluster;
  #child: ChildProcess | undefined;

  constructor(cluster: KubeCluster) {
    this.#cluster = cluster;
  }

  /** `controllers`: in the form of its flag. Resolves once it has started to work. */
  async start(controllers: string, flags: Readonly<Record<string, string>> = {}): Promise<void> {
    const file = path.join(this.#cluster.dir, "kube-controller-manager.log");
    const log = openSync(file, "w");
    const all = {
      kubeconfig: this.#cluster.kubeconfig,
      "leader-elect": "false",
      "secure-port": "0",
      controllers,
      "cert-dir": path.join(this.#cluster.dir, "controller-manager-certs"),
      ...flags,
    };
    const args = Object.entries(all).map(([flag, value]) => `--${flag}=${value}`);
    const child = spawn(path.join(assets ?? "", "kube-controller-manager"), args, { stdio: ["ignore", log, log] });
    closeSync(log);
    this.#child = child;
    const text = (): string => readFileSync(file, "utf8");
    await until(
      "kube-controller-manager works",
      () => {
        if (child.exitCode !== null) throw new Error(`it ended: ${text().slice(-1500)}`);
        return /Caches are synced|caches populated/i.test(text());
      },
      60,
      () => text().slice(-1500),
    );
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }
}
