import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Ambient } from "../../agent/base/ambient.ts";
import { type Millis, sleep } from "../../agent/base/clock.ts";

/** How a real agent is started. */
export interface AgentCommand {
  readonly program: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The file that receives the agent's output. */
  readonly log: string;
}

/** failed: the agent ended for a reason that a restart does not fix; its log shows the reason. */
export type AgentState = "running" | "suspended" | "off" | "failed";

export interface AgentMemory {
  readonly rss: number;
  readonly anonymous: number;
}

/** The pause before a restart, and the exit code that prevents one, as in the unit file. */
const restartPause: Millis = 2000;
const unusableConfiguration = 78;
const stopLimit: Millis = 10_000;

/** A real agent of a simulated board, supervised as systemd would: restarted when it exits. */
export class AgentProcess {
  readonly #ambient: Ambient;
  readonly #command: AgentCommand;
  #child: ChildProcess | undefined;
  #suspended = false;
  #failed = false;

  constructor(ambient: Ambient, deps: { readonly command: AgentCommand }) {
    this.#ambient = ambient;
    this.#command = deps.command;
  }

  get state(): AgentState {
    if (this.#child) return this.#suspended ? "suspended" : "running";
    return this.#failed ? "failed" : "off";
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The agent's current memory use in bytes; `undefined` if it is not running or the system does not report it. */
  memory(): AgentMemory | undefined {
    if (this.pid === undefined) return undefined;
    try {
      const text = readFileSync(`/proc/${this.pid}/status`, "utf8");
      const bytes = (field: string): number =>
        Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) * 1024;
      const [rss, anonymous] = [bytes("VmRSS"), bytes("RssAnon")];
      return Number.isNaN(rss + anonymous) ? undefined : { rss, anonymous };
    } catch {
      return undefined;
    }
  }

  /** Runs until the signal aborts; then asks the agent to end, and kills it if it does not. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    this.#failed = false;
    while (!signal.aborted) {
      const code = await this.#live(signal);
      if (signal.aborted) return;
      log.warn("an agent exited unexpectedly", { code, log: this.#command.log });
      if (code === unusableConfiguration) {
        this.#failed = true;
        return;
      }
      await sleep(clock, restartPause, signal);
    }
  }

  /** Ends the agent as a power cut does: without a shutdown. */
  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  suspend(): void {
    this.#suspended = this.#child?.kill("SIGSTOP") ?? false;
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
    this.#suspended = false;
  }

  /** One run of the process. Returns its exit code; `undefined` after a signal, or if it could not be started. */
  #live(signal: AbortSignal): Promise<number | undefined> {
    const { program, arguments: args, environment, log } = this.#command;
    const file = openSync(log, "a");
    // A pipe to this process. If this process is killed, the pipe closes, and the agent, which watches the pipe, exits.
    const child = spawn(program, args, { stdio: ["pipe", file, file], env: { ...environment } });
    closeSync(file);
    this.#child = child;
    this.#suspended = false;
    return new Promise((resolve) => {
      const late = new AbortController();
      const stop = (): void => {
        child.kill("SIGTERM");
        child.kill("SIGCONT");
        void sleep(this.#ambient.clock, stopLimit, late.signal).then(() => child.kill("SIGKILL"));
      };
      const ended = (code: number | null): void => {
        signal.removeEventListener("abort", stop);
        late.abort();
        this.#child = undefined;
        resolve(code ?? undefined);
      };
      child.once("exit", ended);
      child.once("error", (error) => {
        this.#ambient.log.error("an agent cannot be started", { program, error });
        ended(null);
      });
      signal.addEventListener("abort", stop, { once: true });
    });
  }
}
