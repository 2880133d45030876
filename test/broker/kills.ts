import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { MqttClient } from "mqtt";
import { mosquittoAcl } from "../../agent/fleet/mqtt/broker-acl.ts";
import { FleetBoard } from "../support/broker/fleet-board.ts";
import { Mosquitto } from "../support/broker/mosquitto.ts";
import { SeededRandom } from "../support/seeded-random.ts";

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  readonly progress?: (what: string) => void;
}

export interface KillReport {
  readonly kills: number;
  readonly commands: number;
  readonly succeeded: number;
  readonly expired: number;
  /** Never answered and without an effect: they expired before delivery. */
  readonly unheard: number;
  readonly resent: number;
  readonly sessions: number;
  readonly problems: readonly string[];
}

interface Command {
  readonly id: string;
  readonly payload: string;
  /** Milliseconds since the issuer began. */
  readonly until: number;
  readonly expiry: number;
  terminal: string | undefined;
  sent: number;
}

/** A board accepts a burst of sixty commands and then one a second; a long run stays below that. */
const perKill = (kill: number): number => (kill <= 12 ? 3 : 1);
/** Milliseconds without a terminal answer after which a command is sent again. */
const patience = 3000;
/** Expiry of a command in seconds; one in eight gets the shortest that is permitted. */
const [long, short] = [600, 5];

/**
 * Sends commands while the broker is killed at random points: before it has them, between it and the board, while the board
 * executes them, while it answers. Like a careful operator, the issuer sends unanswered commands again with the same id.
 * Each command must take effect once, or be reported as expired without an effect.
 */
export async function killBroker({ kills, seed, progress = () => {} }: KillOptions): Promise<KillReport> {
  const random = new SeededRandom(seed);
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-kills-"));
  const acl = mosquittoAcl({ fleet: "acme", sites: new Map([["plant7", ["pi-1"]]]), operators: ["ops"] });
  const broker = await new Mosquitto({ acl }).start();
  const board = new FleetBoard({
    broker,
    folder,
    effect: () => pause(random.integer(15)),
  });
  board.standing = { isLeader: true, leader: "pi-1", term: 1 };
  board.start();
  const issuer = new Issuer(board, random);
  try {
    await issuer.connect(broker);
    // A new leader subscribes a while after its first connection, and at once with each later one.
    issuer.send();
    await until(() => issuer.settled > 0, 20_000);
    for (let kill = 1; kill <= kills; kill++) {
      // Most kills meet a connected board, some one that is reconnecting.
      if (random.integer(5) > 0) await until(() => board.fleet?.contribution(instant()).mqtt?.state === "up");
      for (let n = 0; n < perKill(kill); n++) issuer.send();
      // During the execution of a command, or during the answers, of which ten a second are sent.
      await pause(random.integer(random.integer(2) === 0 ? 150 : 1800));
      await broker.kill();
      // Now and then for longer than the shortest expiry.
      await pause(random.integer(25) === 0 ? (short + 1) * 1000 : random.integer(100));
      await broker.restart();
      await pause(random.integer(200));
      if (kill % 20 === 0) progress(`${kill} kills, ${issuer.settled} of ${issuer.commands.length} commands answered`);
    }
    const isDone = (): boolean => issuer.isDone && board.outbox.usage("response").rows === 0;
    for (let waited = 0; !isDone() && waited < 180_000; waited += 250) await pause(250);
    // Time for second answers, and for effects after an answer, to show.
    await pause(1000);
    return issuer.report(kills, board);
  } finally {
    await issuer.end();
    await board.stop();
    await broker.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

class Issuer {
  readonly commands: Command[] = [];
  readonly #board: FleetBoard;
  readonly #random: SeededRandom;
  readonly #begun = performance.now();
  #client: MqttClient | undefined;
  #again: NodeJS.Timeout | undefined;
  #resent = 0;

  constructor(board: FleetBoard, random: SeededRandom) {
    this.#board = board;
    this.#random = random;
  }

  get settled(): number {
    return this.commands.filter(({ terminal }) => terminal !== undefined).length;
  }

  get isDone(): boolean {
    return this.commands.every(({ terminal, until }) => terminal !== undefined || this.#now > until + 2000);
  }

  async connect(broker: Mosquitto): Promise<void> {
    const client = await broker.client("ops", {
      reconnectPeriod: 50,
      clean: false,
      properties: { sessionExpiryInterval: 600 },
    });
    client.removeAllListeners("error");
    client.on("error", () => {});
    client.on("message", (topic, payload) => this.#hear(topic, String(payload)));
    await client.subscribeAsync(this.#board.siteTopic("res/#"), { qos: 1 });
    // Unanswered commands are sent again with the same id, which makes them the same command.
    this.#again = setInterval(() => {
      for (const command of this.commands) {
        const { terminal, until, sent } = command;
        if (terminal !== undefined || this.#now > until || this.#now < sent + patience || !client.connected) continue;
        this.#resent++;
        this.#publish(command);
      }
    }, 500);
    this.#client = client;
  }

  send(): void {
    const id = `K-${this.commands.length}`;
    const expiry = this.#random.integer(8) === 0 ? short : long;
    const envelope = {
      v: 1,
      id,
      name: "zone.confirm-dead",
      args: { zone: id.toLowerCase(), ttl: 3600 },
      by: `ops:${id}`,
      reason: "a test",
    };
    const command = {
      id,
      payload: JSON.stringify(envelope),
      expiry,
      until: this.#now + expiry * 1000,
      terminal: undefined,
      sent: 0,
    };
    this.commands.push(command);
    this.#publish(command);
  }

  #publish(command: Command): void {
    const { id, payload, until } = command;
    command.sent = this.#now;
    const left = Math.max(1, Math.ceil((until - this.#now) / 1000));
    const topic = this.#board.siteTopic(`cmd/zone.confirm-dead/${id}`);
    this.#client?.publish(topic, payload, { qos: 1, properties: { messageExpiryInterval: left } }, () => {});
  }

  #hear(topic: string, payload: string): void {
    const [, id] = /res\/[^/]+\/([^/]+)$/.exec(topic) ?? [];
    const command = this.commands.find((one) => one.id === id);
    if (!command) return;
    const { state, code, error } = JSON.parse(payload) as { state: string; code: number; error?: string };
    if (state === "accepted" || state === "running") return;
    const said = state === "rejected" || state === "failed" ? `${state} ${code} ${error}` : state;
    // A refusal for a rate limit is not final: the command is sent again.
    if (code === 429) return;
    command.terminal ??= said;
    if (command.terminal !== said) command.terminal = `${command.terminal}, then ${said}`;
  }

  report(kills: number, board: FleetBoard): KillReport {
    const problems: string[] = [];
    const counts = { succeeded: 0, expired: 0, unheard: 0 };
    for (const { id, terminal, expiry } of this.commands) {
      const effects = board.effects.filter((effect) => effect === `confirm ${id.toLowerCase()}`).length;
      const isShort = expiry === short;
      if (terminal === "succeeded" && effects === 1) counts.succeeded++;
      else if (terminal === "expired" && effects === 0) counts.expired++;
      else if (terminal === undefined && effects === 0 && isShort) counts.unheard++;
      else problems.push(`${id}: ${terminal ?? "never answered"}, effects: ${effects}, time: ${expiry} s`);
    }
    const sessions = board.outbox.count("session") - 1;
    return { kills, commands: this.commands.length, ...counts, resent: this.#resent, sessions, problems };
  }

  async end(): Promise<void> {
    clearInterval(this.#again);
    await this.#client?.endAsync(true);
  }

  get #now(): number {
    return performance.now() - this.#begun;
  }
}

const instant = () => ({ mono: performance.now(), wall: 0 });

async function until(holds: () => boolean, limit = 5000): Promise<void> {
  for (let waited = 0; !holds() && waited < limit; waited += 10) await pause(10);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
