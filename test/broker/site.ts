import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { MqttClient } from "mqtt";
import { afterEach, expect } from "vitest";
import { mosquittoAcl } from "../../agent/fleet/mqtt/broker-acl.ts";
import { FleetBoard, type FleetBoardOptions } from "../support/broker/fleet-board.ts";
import { type BrokerOptions, lackOfMosquitto, Mosquitto } from "../support/broker/mosquitto.ts";

/** Why these suites are skipped on this machine; undefined if they run. */
export const lack = lackOfMosquitto();
if (lack) console.log(`skipped: the fleet with a real broker, because ${lack}`);

/** Polling times for conditions that real processes must meet. */
export const soon = (what: () => unknown, seconds = 20) => expect.poll(what, { timeout: seconds * 1000 });

/** The output of `siteward broker-acl` for two sites and the operator `ops`. */
export const acl = mosquittoAcl({
  fleet: "acme",
  sites: new Map([
    ["plant7", ["pi-1", "pi-2"]],
    ["plant8", ["pi-1"]],
  ]),
  operators: ["ops", "newcomer"],
});

export interface Received {
  readonly topic: string;
  readonly payload: string;
  readonly retained: boolean;
  readonly code: string | undefined;
  readonly expirySeconds: number | undefined;
}

export interface Told {
  readonly seq: number;
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A fleet for the duration of one test: broker, boards, and an operator who receives everything. */
export class TestFleet {
  readonly broker: Mosquitto;
  readonly received: Received[] = [];
  ops: MqttClient | undefined;
  readonly #folder = mkdtempSync(path.join(tmpdir(), "siteward-fleet-"));
  readonly #boards: FleetBoard[] = [];
  #number = 0;

  constructor(options: BrokerOptions = {}) {
    this.broker = new Mosquitto({ acl, ...options });
    open.push(this);
  }

  async start(): Promise<this> {
    await this.broker.start();
    this.ops = await this.broker.client("ops");
    this.ops.on("message", (topic, payload, { retain, properties }) => {
      const code = properties?.userProperties?.code;
      this.received.push({
        topic,
        payload: String(payload),
        retained: retain,
        code: typeof code === "string" ? code : undefined,
        expirySeconds: properties?.messageExpiryInterval,
      });
    });
    await this.ops.subscribeAsync("sw1/acme/#", { qos: 1 });
    return this;
  }

  board(options: Omit<FleetBoardOptions, "broker" | "folder"> = {}): FleetBoard {
    const board = new FleetBoard({ broker: this.broker, folder: this.#folder, ...options });
    this.#boards.push(board);
    return board;
  }

  /** Settings of the section `mqtt` for a real agent of plant7, which reconnects at once. */
  agentSettings(board = "pi-1") {
    const { url, authority } = this.broker;
    const reconnect = { first: "100ms", most: "1s", refused: "1s" };
    return { url, fleet: "acme", ...authority.issue(`acme/plant7/${board}`), ca: authority.file, reconnect };
  }

  /** The documents that were published on a topic, in order. */
  said(topic: string): readonly Record<string, unknown>[] {
    return this.received.filter((one) => one.topic === topic).map(({ payload }) => JSON.parse(payload));
  }

  last(topic: string): Record<string, unknown> | undefined {
    return this.said(topic).at(-1);
  }

  /** The events that boards published, in order. */
  events(): readonly Told[] {
    return this.received.filter(({ topic }) => /\/event\//.test(topic)).map(({ payload }) => JSON.parse(payload));
  }

  /** The message that is now retained on a topic, as a new subscriber receives it. */
  async retained(topic: string): Promise<Received | undefined> {
    const newcomer = await this.broker.client("newcomer");
    const found = await new Promise<Received | undefined>((resolve) => {
      const late = setTimeout(() => resolve(undefined), 400);
      newcomer.on("message", (at, payload, { retain, properties }) => {
        clearTimeout(late);
        const expirySeconds = properties?.messageExpiryInterval;
        resolve({ topic: at, payload: String(payload), retained: retain, code: undefined, expirySeconds });
      });
      void newcomer.subscribeAsync(topic, { qos: 1 });
    });
    await newcomer.endAsync(true);
    return found;
  }

  /** Sends a command as the operator and returns its id. */
  async command(
    prefix: string,
    name: string,
    args: Record<string, unknown> = {},
    more: { readonly id?: string; readonly expiry?: number; readonly envelope?: Record<string, unknown> } = {},
  ): Promise<string> {
    const { id = `CMD-${++this.#number}`, expiry = 60, envelope = {} } = more;
    const document = { v: 1, id, name, args, by: "ops:alice", reason: "a test", ...envelope };
    const properties = { messageExpiryInterval: expiry };
    await this.ops?.publishAsync(`${prefix}/cmd/${name}/${id}`, JSON.stringify(document), { qos: 1, properties });
    return id;
  }

  async stop(): Promise<void> {
    for (const board of this.#boards) await board.stop();
    await this.broker.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const open: TestFleet[] = [];
afterEach(async () => {
  for (const fleet of open.splice(0)) await fleet.stop();
});
