import { spawn } from "node:child_process";
import { dirname, resolve } from "node:path";
import { isFields, type ParsedFields } from "../../api/shape-rules.ts";
import { type Clock, elapsed, type Instant, isAfter, type Millis, shifted } from "../../base/clock.ts";
import { killGroup } from "../../base/process-group.ts";
import { scrubber } from "../../base/text/scrubber.ts";
import { readTime } from "../../base/time/iso-time.ts";
import { bearerToken } from "./bearer-token.ts";
import { CredentialsError } from "./credentials-error.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The credential that a plugin returns: a token, or a client certificate and its key in PEM, or all three. */
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
const maxOutputLength = 1024 * 1024;
/** Maximum length, in characters, of the plugin's error output that is kept, and of its first line that is shown. */
const maxErrorsLength = 4096;
const maxMessageLength = 300;
/**
 * A credential that has expired by this board's clock is used for this long, so that a wrong clock does not cause a
 * storm of plugin runs.
 */
const minimumUse: Millis = 10_000;

/** A program that fetches credentials (client.authentication.k8s.io). Runs on demand, and only once at a time. */
export class ExecPlugin {
  readonly #clock: Clock;
  readonly #where: string;
  readonly #spec: ExecSpec;
  readonly #environment: Environment;
  readonly #cluster: ParsedFields;
  #kept: { readonly credential: ExecCredential; readonly until: Instant | undefined } | undefined;
  #running: { readonly answer: Promise<ExecCredential>; readonly since: Instant } | undefined;
  #stop: ((why: CredentialsError) => void) | undefined;

  constructor(
    clock: Clock,
    options: {
      readonly where: string;
      readonly file: string;
      readonly exec: ParsedFields;
      readonly environment: Environment;
      /** The cluster information for plugins with provideClusterInfo. */
      readonly cluster: ParsedFields;
    },
  ) {
    this.#clock = clock;
    this.#where = options.where;
    this.#spec = specOf(options.where, options.file, options.exec);
    this.#environment = options.environment;
    this.#cluster = options.cluster;
  }

  /** The current credential. All callers share a running plugin. */
  credential(): Promise<ExecCredential> {
    const kept = this.#kept;
    if (kept && (kept.until === undefined || isAfter(kept.until, this.#clock.now()))) {
      return Promise.resolve(kept.credential);
    }
    this.#running ??= { answer: this.#fetch().finally(() => this.#ended()), since: this.#clock.now() };
    return this.#running.answer;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /**
   * An error that says how long the plugin has been running; undefined if it is not running. The time is rounded down
   * to a power of two seconds, because each distinct message is logged.
   */
  delay(): CredentialsError | undefined {
    if (this.#running === undefined) return undefined;
    const seconds = Math.max(1, elapsed(this.#running.since, this.#clock.now()) / 1000);
    return this.#error(`has not answered for at least ${2 ** Math.floor(Math.log2(seconds))}s`);
  }

  /** Ends the current run because the kubeconfig was changed. */
  giveUp(): void {
    this.#stop?.(
      this.#error("was stopped because the kubeconfig was changed", "The new kubeconfig will be read next."),
    );
  }

  /** Discards the cached credential. */
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
      if (typeof value !== "string") throw this.#error(`returned a ${name} that is not a string`);
      return value === "" ? undefined : value;
    });
    const [text, certificate, key, expiration] = texts;
    const token = text && bearerToken(text, `${this.#name}: its token`);
    if (token === undefined && certificate === undefined)
      throw this.#error("returned neither a token nor a certificate");
    if ((certificate === undefined) !== (key === undefined))
      throw this.#error("returned a client certificate or a key, but not both");
    const credential = { token, certificate, key };
    this.#kept = { credential, until: this.#endOf(expiration) };
    return credential;
  }

  #endOf(expiration: string | undefined): Instant | undefined {
    if (expiration === undefined) return undefined;
    const end = readTime(expiration);
    if (end === undefined) throw this.#error("returned an invalid expirationTimestamp");
    const now = this.#clock.now();
    return shifted(now, Math.max(minimumUse, end - now.wall));
  }

  #statusIn(output: string): ParsedFields {
    let document: unknown;
    try {
      document = JSON.parse(output);
    } catch {
      throw this.#error("did not return JSON");
    }
    if (!isFields(document) || document.kind !== "ExecCredential")
      throw this.#error("did not return an ExecCredential");
    if (document.apiVersion !== this.#spec.apiVersion)
      throw this.#error(`did not return the apiVersion ${this.#spec.apiVersion}`);
    if (!isFields(document.status)) throw this.#error("returned no credentials");
    return document.status;
  }

  #output(): Promise<string> {
    const { command, args, env, apiVersion, provideClusterInfo, installHint } = this.#spec;
    const spec = { interactive: false, ...(provideClusterInfo ? { cluster: this.#cluster } : {}) };
    // Applied before the message is truncated, because a secret is recognised by its surroundings.
    const withoutSecrets = scrubber(Object.values(env));
    const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
    return new Promise((settle, fail) => {
      const child = spawn(command, args, {
        env: { ...this.#environment, ...env, KUBERNETES_EXEC_INFO: info },
        stdio: ["ignore", "pipe", "pipe"],
        // The plugin runs in its own process group, so that its children end with it.
        detached: true,
      });
      let output = "";
      let errors = "";
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
        if (output.length > maxOutputLength) stop(this.#error("returned more than 1 MiB"));
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        if (errors.length < maxErrorsLength) errors += text;
      });
      child.on("error", (error) => {
        const missing = "code" in error && error.code === "ENOENT";
        stop(
          missing
            ? this.#error("is not installed", installHint ?? "Install it, or specify its full path.", error)
            : this.#error("cannot be started", "It must be executable for the user that the agent runs as.", error),
        );
      });
      child.on("close", (code, killedBy) => {
        timer.cancel();
        const message = withoutSecrets(firstLine(errors.slice(0, maxErrorsLength))).slice(0, maxMessageLength);
        if (code === 0) settle(output);
        else fail(this.#error(`ended with ${killedBy ?? `status ${code}`}${message ? ` (${message})` : ""}`));
      });
    });
  }

  get #name(): string {
    return `${this.#where}: the credential plugin ${this.#spec.command}`;
  }

  #error(what: string, hint?: string, cause?: unknown): CredentialsError {
    return new CredentialsError(
      `${this.#name} ${what}`,
      hint ?? "Run it by hand, as the user that the agent runs as, and check its output.",
      { cause },
    );
  }
}

function specOf(where: string, file: string, exec: ParsedFields): ExecSpec {
  const { apiVersion, command, args, env, interactiveMode, installHint, provideClusterInfo } = exec;
  const wrong = (what: string, hint: string): CredentialsError => new CredentialsError(`${where}: ${what}`, hint);
  if (typeof apiVersion !== "string" || !versions.includes(apiVersion)) {
    throw wrong("exec has an unknown apiVersion", `Set it to ${versions.join(" or ")}.`);
  }
  if (typeof command !== "string" || command === "")
    throw wrong("exec has no command", "Set exec.command to the plugin.");
  if (interactiveMode === "Always") {
    throw wrong("exec requires interactive input", "Use a plugin that works with interactiveMode Never.");
  }
  if (args !== undefined && args !== null && !isTexts(args)) {
    throw wrong("exec.args is not a list of strings", "Put each argument in quotes.");
  }
  return {
    apiVersion,
    // A path is relative to the kubeconfig's folder; a bare name is looked up in PATH.
    command: command.includes("/") ? resolve(dirname(file), command) : command,
    args: args ?? [],
    env: variablesOf(env, () =>
      wrong("exec.env is not a list of names and values", "Give each entry a name and a value."),
    ),
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

const firstLine = (text: string): string => text.trim().split("\n")[0] ?? "";

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
