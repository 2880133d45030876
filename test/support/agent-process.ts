import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { dump } from "js-yaml";
import { nodeEnvironment, nodeFlags } from "../../agent/board/profile/runtime-flags.ts";

export interface AgentOptions {
  readonly dir: string;
  readonly board: string;
  readonly kubeconfig: string;
  /** Sections of the configuration that differ from the defaults. */
  readonly config?: Readonly<Record<string, object | string>>;
  readonly flags?: readonly string[];
  /** A command that prepares the environment and then executes the command that follows it. */
  readonly through?: readonly string[];
  /** A program to run instead of this project's own: its Node and its main file. */
  readonly program?: readonly [node: string, main: string];
}

/** The parts of status.json that the tests read. */
export interface AgentStatus {
  readonly pid: number;
  readonly health: {
    readonly level: string;
    readonly ready: boolean;
    readonly conditions: readonly AgentCondition[];
  };
  readonly lan?: { readonly boards: number; readonly heard: number; readonly mute: { readonly count: number } };
  readonly leader?: {
    readonly role: string;
    readonly term?: number;
    readonly holder?: string;
    readonly leaseAgeMs?: number;
    readonly renewP95Ms?: number;
    readonly missedRenewals?: number;
  };
  readonly link?: { readonly api: { readonly state: string; readonly lastError?: string } };
  readonly zones?: readonly {
    readonly name: string;
    readonly state: string;
    readonly nodes: number;
    readonly ready: number;
    readonly rate: number;
  }[];
  readonly controllers?: readonly { readonly name: string; readonly queue: number; readonly syncP95Ms?: number }[];
  readonly journal?: { readonly depth: number; readonly walBytes: number };
  readonly watches?: readonly { readonly resource: string; readonly state: string; readonly objects: number }[];
}

export interface AgentCondition {
  readonly type: string;
  readonly subject?: string;
  readonly severity: string;
  readonly message: string;
  readonly hint?: string;
}

/**
 * A real agent, as systemd would start it: the bundle under this project's own Node, without our own environment,
 * because a certificate bundle named there would cost an agent a megabyte.
 */
export class AgentProcess {
  readonly board: string;
  readonly dir: string;
  readonly #options: AgentOptions;
  #child: ChildProcess | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.board = options.board;
    this.dir = path.join(options.dir, options.board);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get exitCode(): number | null | undefined {
    return this.#child?.exitCode;
  }

  start(): void {
    mkdirSync(this.dir, { recursive: true });
    const config = path.join(this.dir, "siteward.yaml");
    writeFileSync(config, dump(this.#configuration()));
    const log = openSync(this.logFile, "a");
    const own = [process.execPath, path.resolve(import.meta.dirname, "../../dist/main.js")] as const;
    const { flags = nodeFlags, through = [], program: [node, main] = own } = this.#options;
    const [program = "", ...args] = [...through, node, ...flags, main, "run", "--config", config];
    this.#child = spawn(program, args, {
      stdio: ["ignore", log, log],
      env: { PATH: process.env.PATH, ...nodeEnvironment },
    });
    closeSync(log);
  }

  get logFile(): string {
    return path.join(this.dir, "agent.log");
  }

  log(): string {
    return existsSync(this.logFile) ? readFileSync(this.logFile, "utf8") : "";
  }

  get statusFile(): string {
    return path.join(this.dir, "run/status.json");
  }

  status(): AgentStatus | undefined {
    try {
      const status = JSON.parse(readFileSync(this.statusFile, "utf8")) as AgentStatus;
      return status.pid === this.pid ? status : undefined;
    } catch {
      return undefined;
    }
  }

  get leads(): boolean {
    return this.running && this.status()?.leader?.role === "leader";
  }

  /** It leads, and its caches are current. */
  get isReady(): boolean {
    return this.leads && this.status()?.health.ready === true;
  }

  /** Stops the agent, by default with SIGTERM. Returns the exit code; `null` after a signal. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    const child = this.#child;
    if (!child || !this.running) return child?.exitCode ?? null;
    const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
    const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
    child.kill(signal);
    if (signal !== "SIGKILL") child.kill("SIGCONT");
    const code = await exited;
    clearTimeout(late);
    return code;
  }

  suspend(): void {
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Megabytes, from /proc. */
  memory(): { readonly rss: number; readonly anonymous: number; readonly peak: number } {
    const text = readFileSync(`/proc/${this.pid}/status`, "utf8");
    const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0) / 1024;
    return { rss: field("VmRSS"), anonymous: field("RssAnon"), peak: field("VmHWM") };
  }

  /** Bytes that this process caused to be written to storage. */
  written(): number {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${this.pid}/io`, "utf8"))?.[1] ?? 0);
  }

  /** Milliseconds of CPU, user and system. */
  cpu(): number {
    const fields = readFileSync(`/proc/${this.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  #configuration(): object {
    const { config = {}, program } = this.#options;
    // Many agents of a test share one machine: those that are to answer each other get ports of their own. A program of
    // another version may not know the setting.
    const alone = program === undefined ? { judgement: { witness: "off", ...Object(config.judgement) } } : {};
    return {
      apiVersion: "siteward.dev/v1",
      kind: "AgentConfiguration",
      board: { name: this.board },
      api: { kubeconfig: this.#options.kubeconfig },
      state: { folder: path.join(this.dir, "state") },
      run: { folder: path.join(this.dir, "run") },
      status: { minInterval: "200ms" },
      log: { level: "debug", format: "text" },
      ...config,
      ...alone,
    };
  }
}

/** Waits until a condition holds. Throws with `what` and `more()` after the timeout. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  seconds: number,
  more: () => string = () => "",
): Promise<number> {
  const begun = performance.now();
  while (!(await holds())) {
    if (performance.now() - begun > seconds * 1000) throw new Error(`waited ${seconds} s in vain: ${what} ${more()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return (performance.now() - begun) / 1000;
}
