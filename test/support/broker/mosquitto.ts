import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, connect as dial } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect, type IClientOptions, type MqttClient } from "mqtt";
import { Authority as Issuer } from "../../agent/client/certificates.ts";

/** Files of one client, or of the broker. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** The certificates of a fleet, as files, because brokers and boards read them from files. */
export class Authority {
  readonly folder: string;
  readonly file: string;
  readonly #issuer: Issuer;

  constructor(folder: string, name = "fleet authority") {
    this.folder = folder;
    this.file = path.join(folder, `${slug(name)}.crt`);
    this.#issuer = new Issuer(name);
    writeFileSync(this.file, this.#issuer.ca);
  }

  issue(name: string): Certificate {
    const { cert, key } = this.#issuer.issue(name);
    const at = path.join(this.folder, slug(name));
    const files = { certificate: `${at}.crt`, key: `${at}.key` };
    writeFileSync(files.certificate, cert);
    writeFileSync(files.key, key);
    return files;
  }

  remove(): void {
    this.#issuer.remove();
  }
}

const slug = (name: string): string => name.replace(/[^a-z0-9-]/gi, "_");

export interface BrokerOptions {
  /** The text of the ACL file; without one, all clients may do everything. */
  readonly acl?: string;
  /** Lines for mosquitto.conf. */
  readonly more?: readonly string[];
}

/** Why suites with a real broker cannot run on this machine; undefined if they can. */
export function lackOfMosquitto(): string | undefined {
  return existsSync(program) ? undefined : `${program} is not installed (test/support/install-tools)`;
}

const program = "/usr/sbin/mosquitto";

/**
 * A real mosquitto with TLS, set up as docs/operator.md describes: the certificate's name is both the user and the
 * client id.
 */
export class Mosquitto {
  readonly folder = mkdtempSync(path.join(tmpdir(), "siteward-mosquitto-"));
  readonly authority: Authority;
  port = 0;
  readonly #options: BrokerOptions;
  readonly #clients: MqttClient[] = [];
  #child: ChildProcess | undefined;

  constructor(options: BrokerOptions = {}) {
    this.#options = options;
    this.authority = new Authority(this.folder);
  }

  get url(): string {
    return `mqtts://127.0.0.1:${this.port}`;
  }

  async start(): Promise<this> {
    this.port ||= await freePort();
    const { certificate, key } = this.authority.issue("broker");
    const { acl, more = [] } = this.#options;
    const config = path.join(this.folder, "mosquitto.conf");
    if (acl !== undefined) writeFileSync(path.join(this.folder, "acl"), acl, { mode: 0o600 });
    const lines = [
      `listener ${this.port} 127.0.0.1`,
      `cafile ${this.authority.file}`,
      `certfile ${certificate}`,
      `keyfile ${key}`,
      "require_certificate true",
      "use_identity_as_username true",
      "use_username_as_clientid true",
      ...(acl === undefined ? [] : [`acl_file ${path.join(this.folder, "acl")}`]),
      "persistence true",
      `persistence_location ${this.folder}/`,
      "autosave_interval 1",
      "autosave_on_changes true",
      ...(more.some((line) => line.startsWith("max_packet_size")) ? [] : ["max_packet_size 65000"]),
      // If started as root, it would switch to another user, who cannot read these files.
      "user root",
      `log_dest file ${path.join(this.folder, "mosquitto.log")}`,
      "log_type all",
      ...more,
    ];
    writeFileSync(config, `${lines.join("\n")}\n`);
    return this.#run(config);
  }

  /** Kills it, like a power cut. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Suspends it, like a machine that swaps: connections stay open without answers. */
  suspend(): void {
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  async restart(): Promise<void> {
    await this.#run(path.join(this.folder, "mosquitto.conf"));
  }

  async stop(): Promise<void> {
    for (const client of this.#clients.splice(0)) client.end(true);
    await this.#end("SIGTERM");
    this.authority.remove();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  get log(): string {
    const file = path.join(this.folder, "mosquitto.log");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  /** A client other than the agent's link: the fleet's side, or an intruder. Its name is that of its certificate. */
  client(name: string, options: Partial<IClientOptions> = {}): Promise<MqttClient> {
    const { certificate, key } = this.authority.issue(name);
    // The broker identifies the client by its certificate; the library requires a name for a persistent session.
    return this.clientWith({ certificate, key }, { clientId: name, ...options });
  }

  clientWith({ certificate, key }: Certificate, options: Partial<IClientOptions> = {}): Promise<MqttClient> {
    const client = connect(this.url, {
      protocolVersion: 5,
      ca: readFileSync(this.authority.file),
      cert: readFileSync(certificate),
      key: readFileSync(key),
      reconnectPeriod: 100,
      connectTimeout: 5000,
      ...options,
    });
    this.#clients.push(client);
    return new Promise((resolve, reject) => {
      client.once("connect", () => resolve(client));
      // Errors of later connections mean only that the test's broker is down.
      client.on("error", reject);
    });
  }

  async #run(config: string): Promise<this> {
    const child = spawn(program, ["-c", config], { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    let said = "";
    child.stderr.on("data", (data: Buffer) => {
      said += String(data);
      appendFileSync(path.join(this.folder, "mosquitto.log"), data);
    });
    for (let tries = 0; tries < 200; tries++) {
      if (child.exitCode !== null) throw new Error(`mosquitto ended with ${child.exitCode}: ${said}\n${this.log}`);
      if (await answers(this.port)) return this;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`mosquitto does not listen: ${this.log}`);
  }

  #end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
    return new Promise((resolve) => {
      child.once("exit", () => resolve());
      child.kill(signal);
      child.kill("SIGCONT");
    });
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial(port, "127.0.0.1");
    const end = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
