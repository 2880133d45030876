import { spawn } from "node:child_process";
import { dirname, resolve } from "node:path";
import { type Fields, isFields } from "../api/shape-rules.ts";
import { type Clock, elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { readTime } from "../base/iso-time.ts";
import { killGroup } from "../base/process-group.ts";
import { bearerToken } from "./bearer-token.ts";
import { CredentialsError } from "./credentials-error.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The answer of a credential plugin. */
export interface ExecCredential {
  readonly token: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

interface ExecSpec {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
}

const versions: readonly string[] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const patience: Millis = 60_000;
const longestOutput = 1024 * 1024;
const longestComplaint = 300;
/** Minimum use of a credential that is expired by this board's clock, so that a wrong clock starts no storm. */
const leastLife: Millis = 10_000;

/** A program that fetches credentials (client.authentication.k8s.io). Run on demand, one run at a time. */
export class ExecPlugin {
  readonly #clock: Clock;
  readonly #where: string;
  readonly #spec: ExecSpec;
  readonly #environment: Environment;
  readonly #cluster: Fields;
  #kept: { readonly credential: ExecCredential; readonly until: Instant | undefined } | undefined;
  #running: { readonly answer: Promise<ExecCredential>; readonly since: Instant } | undefined;
  #stop: ((why: CredentialsError) => void) | undefined;

  constructor(
    clock: Clock,
    parts: {
      readonly where: string;
      readonly file: string;
      readonly exec: Fields;
      readonly environment: Environment;
      /** The cluster information that the plugin gets if it asks for it. */
      readonly cluster: Fields;
    },
  ) {
    this.#clock = clock;
    this.#where = parts.where;
    this.#spec = specOf(parts.where, parts.file, parts.exec);
    this.#environment = parts.environment;
    this.#cluster = parts.cluster;
  }

  /** The current credential. All callers share a running plugin. */
  credential(): Promise<ExecCredential> {
    const kept = this.#kept;
    if (kept && (kept.until === undefined || elapsed(this.#clock.now(), kept.until) > 0)) {
      return Promise.resolve(kept.credential);
    }
    this.#running ??= { answer: this.#fetch().finally(() => this.#ended()), since: this.#clock.now() };
    return this.#running.answer;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** How long the current run has taken. Rounded to a power of two, because each new sentence is logged. */
  delay(): CredentialsError | undefined {
    if (this.#running === undefined) return undefined;
    const seconds = Math.max(1, elapsed(this.#running.since, this.#clock.now()) / 1000);
    return this.#error(`has not answered for ${2 ** Math.floor(Math.log2(seconds))}s and longer`);
  }

  /** Ends the current run: the configuration that named this plugin was changed. */
  giveUp(): void {
    this.#stop?.(this.#error("was given up, the kubeconfig was changed", "Look again: the new one is read now."));
  }

  forget(): void {
    this.#kept = undefined;
  }

  #ended(): void {
    this.#running = undefined;
    this.#stop = undefined;
  }

  async #fetch(): Promise<ExecCredential> {
    const status = this.#statusIn(await this.#output());
    const texts = ["token", "clientCertificateData", "clientKeyData", "expirationTimestamp"].map((name) => {
      const value = status[name] ?? "";
      if (typeof value !== "string") throw this.#error(`answered a ${name} that is no text`);
      return value === "" ? undefined : value;
    });
    const [text, certificate, key, expiration] = texts;
    const token = text && bearerToken(text, `${this.#name}: its token`);
    if (token === undefined && certificate === undefined) throw this.#error("answered neither token nor certificate");
    if ((certificate === undefined) !== (key === undefined)) throw this.#error("answered half a client certificate");
    const credential = { token, certificate, key };
    this.#kept = { credential, until: this.#endOf(expiration) };
    return credential;
  }

  #endOf(expiration: string | undefined): Instant | undefined {
    if (expiration === undefined) return undefined;
    const end = readTime(expiration);
    if (end === undefined) throw this.#error("answered an expirationTimestamp that is no time");
    const now = this.#clock.now();
    return shifted(now, Math.max(leastLife, end - now.wall));
  }

  #statusIn(output: string): Fields {
    let document: unknown;
    try {
      document = JSON.parse(output);
    } catch {
      throw this.#error("did not answer JSON");
    }
    if (!isFields(document) || document.kind !== "ExecCredential") throw this.#error("answered no ExecCredential");
    if (document.apiVersion !== this.#spec.apiVersion) throw this.#error(`did not answer ${this.#spec.apiVersion}`);
    if (!isFields(document.status)) throw this.#error("answered no credentials");
    return document.status;
  }

  #output(): Promise<string> {
    const { command, args, env, apiVersion, provideClusterInfo, installHint } = this.#spec;
    const spec = { interactive: false, ...(provideClusterInfo ? { cluster: this.#cluster } : {}) };
    const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
    return new Promise((settle, fail) => {
      const child = spawn(command, args, {
        env: { ...this.#environment, ...env, KUBERNETES_EXEC_INFO: info },
        stdio: ["ignore", "pipe", "pipe"],
        // Its own process group, so that the plugin's children end with it.
        detached: true,
      });
      let output = "";
      let complaint = "";
      const stop = (why: CredentialsError): void => {
        timer.cancel();
        fail(why);
        child.stdout.destroy();
        child.stderr.destroy();
        killGroup(child.pid);
      };
      this.#stop = stop;
      const timer = this.#clock.after(patience, () => stop(this.#error(`did not end within ${patience / 1000}s`)));
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (output.length > longestOutput) stop(this.#error("answered without end"));
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        if (complaint.length < longestComplaint) complaint += text;
      });
      child.on("error", (error) => {
        const missing = "code" in error && error.code === "ENOENT";
        stop(
          missing
            ? this.#error("is not installed", installHint ?? "Install it, or name its full path.", error)
            : this.#error("cannot be started", "It must be executable for the user that the agent runs as.", error),
        );
      });
      child.on("close", (code, killedBy) => {
        timer.cancel();
        const said = complaint.trim().split("\n")[0]?.slice(0, longestComplaint);
        if (code === 0) settle(output);
        else fail(this.#error(`ended with ${killedBy ?? `status ${code}`}${said ? ` (${said})` : ""}`));
      });
    });
  }

  get #name(): string {
    return `${this.#where}: the credential plugin ${this.#spec.command}`;
  }

  #error(what: string, hint?: string, cause?: unknown): CredentialsError {
    return new CredentialsError(
      `${this.#name} ${what}`,
      hint ?? "Run it by hand, as the user that the agent runs as, and see what it says.",
      { cause },
    );
  }
}

function specOf(where: string, file: string, exec: Fields): ExecSpec {
  const { apiVersion, command, args, env, interactiveMode, installHint, provideClusterInfo } = exec;
  const wrong = (what: string, hint: string): CredentialsError => new CredentialsError(`${where}: ${what}`, hint);
  if (typeof apiVersion !== "string" || !versions.includes(apiVersion)) {
    throw wrong("exec has an apiVersion that is not known here", `Set it to ${versions.join(" or ")}.`);
  }
  if (typeof command !== "string" || command === "") throw wrong("exec has no command", "Name the plugin in it.");
  if (interactiveMode === "Always") {
    throw wrong("exec wants to ask a person", "Use a plugin that works with interactiveMode Never.");
  }
  if (args !== undefined && args !== null && !isTexts(args)) {
    throw wrong("exec.args is not a list of texts", "Put each argument into quotes.");
  }
  return {
    apiVersion,
    // A path is relative to the kubeconfig's folder; a bare name is looked up in PATH.
    command: command.includes("/") ? resolve(dirname(file), command) : command,
    args: args ?? [],
    env: variablesOf(env, () => wrong("exec.env is not a list of names and values", "Give each entry name and value.")),
    installHint: typeof installHint === "string" && installHint !== "" ? installHint : undefined,
    provideClusterInfo: provideClusterInfo === true,
  };
}

function variablesOf(env: unknown, wrong: () => CredentialsError): Readonly<Record<string, string>> {
  if (env === undefined || env === null) return {};
  if (!Array.isArray(env)) throw wrong();
  const variables: Record<string, string> = {};
  for (const entry of env) {
    if (!isFields(entry) || typeof entry.name !== "string" || typeof entry.value !== "string") throw wrong();
    variables[entry.name] = entry.value;
  }
  return variables;
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
