import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { until } from "./agent-process.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const script = path.resolve(import.meta.dirname, "systemd-host");

const surroundings = [
  "HOME=/root",
  "LANG=C.UTF-8",
  "TERM=dumb",
  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
];

/** A throw-away host with a real systemd as PID 1: see `systemd-host` beside this file. */
export class SystemdHost {
  readonly #keeper: ChildProcess;
  readonly #init: string;

  private constructor(keeper: ChildProcess, init: string) {
    this.#keeper = keeper;
    this.#init = init;
  }

  /** Why this machine cannot run such a host; undefined if it can. */
  static whyNot(): string | undefined {
    try {
      execFileSync(script, ["--check"], { stdio: "pipe" });
      return undefined;
    } catch (error) {
      const { stderr } = error as { readonly stderr?: Buffer };
      return (
        stderr
          ?.toString()
          .trim()
          .replace(/^systemd-host: /, "") || String(error)
      );
    }
  }

  /** `writable`: folders that the host shares with this machine. Everything else is a private copy. */
  static async boot(options: { readonly writable?: readonly string[] } = {}): Promise<SystemdHost> {
    const writable = (options.writable ?? []).flatMap((folder) => ["--write", folder]);
    // Its standard input is a pipe from this process, so that the host ends with it, however this process ends.
    const keeper = spawn(script, [...writable, "--stay"], { stdio: ["pipe", "pipe", "pipe"] });
    let trouble = "";
    keeper.stderr.on("data", (text: Buffer) => {
      trouble += text.toString();
    });
    for await (const line of createInterface({ input: keeper.stdout })) {
      const init = /^init (\d+)$/.exec(line)?.[1];
      if (init !== undefined) return new SystemdHost(keeper, init);
    }
    throw new Error(`the host did not boot: ${trouble}`);
  }

  /** Runs a command or a bash script as root. */
  run(command: string | readonly string[], options: { readonly seconds?: number } = {}): Promise<Ran> {
    const words = typeof command === "string" ? ["bash", "-c", command] : command;
    const enter = ["-t", this.#init, "-m", "-p", "-u", "-i", "-C", "-n", "--", "env", "-i", ...surroundings, ...words];
    const limits = { timeout: (options.seconds ?? 120) * 1000, maxBuffer: 64 * 2 ** 20 };
    return new Promise((resolve) => {
      execFile("nsenter", enter, limits, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 255;
        resolve({ code, stdout, stderr });
      });
    });
  }

  /** Like `run`, but throws if the command fails. Returns its output without the last line break. */
  async sh(command: string | readonly string[], options: { readonly seconds?: number } = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, options);
    if (code !== 0) throw new Error(`ended with ${code}: ${[command].flat().join(" ")}\n${stdout}${stderr}`);
    return stdout.replace(/\n$/, "");
  }

  /** A new file, with its folders. */
  async write(file: string, text: string, mode = "644"): Promise<void> {
    const [folder, encoded] = [path.dirname(file), Buffer.from(text).toString("base64")];
    await this.sh(`mkdir -p '${folder}' && base64 -d <<< '${encoded}' > '${file}' && chmod ${mode} '${file}'`);
  }

  read(file: string): Promise<string> {
    return this.sh(["cat", file]);
  }

  /** The properties of a unit in systemd: `(await host.unit("siteward", "ActiveState")).ActiveState`. */
  async unit<Name extends string>(unit: string, ...names: readonly Name[]): Promise<Readonly<Record<Name, string>>> {
    const text = await this.sh(["systemctl", "show", unit, ...names.map((name) => `--property=${name}`)]);
    const found = Object.fromEntries(
      text.split("\n").map((line) => [line.split("=", 1)[0], line.replace(/^[^=]*=/, "")]),
    );
    return found as Record<Name, string>;
  }

  /** The lines of a unit's journal so far, without times. */
  async journal(unit: string, ...options: readonly string[]): Promise<string> {
    await this.sh(["journalctl", "--sync"]);
    return this.sh(["journalctl", "--unit", unit, "--output=cat", "--no-pager", ...options]);
  }

  /** Waits until a unit has these properties. Throws with its properties and journal after the timeout. */
  async until(unit: string, wanted: Readonly<Record<string, string>>, seconds: number): Promise<void> {
    const names = Object.keys(wanted);
    let last: Readonly<Record<string, string>> = {};
    const isSo = async (): Promise<boolean> => {
      last = await this.unit(unit, ...names);
      return names.every((name) => last[name] === wanted[name]);
    };
    try {
      await until(`${unit}: ${JSON.stringify(wanted)}`, isSo, seconds);
    } catch (error) {
      throw new Error(`it is ${JSON.stringify(last)}; its journal:\n${await this.journal(unit, "-n", "40")}`, {
        cause: error,
      });
    }
  }

  /** Kills all its processes and discards all its files. */
  async end(): Promise<void> {
    if (this.#keeper.exitCode !== null || this.#keeper.signalCode !== null) return;
    const gone = once(this.#keeper, "exit");
    this.#keeper.stdin?.end();
    await gone;
  }
}
