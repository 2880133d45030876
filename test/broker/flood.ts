import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { MqttClient } from "mqtt";
import { nodeFlags } from "../../agent/board/profile/runtime-flags.ts";
import { newKeyPair, signatureOf } from "../../agent/commands/desk/signature.ts";
import { mosquittoAcl } from "../../agent/fleet/mqtt/broker-acl.ts";
import { parseExposition } from "../agent/commands/operator-api/parse-exposition.ts";
import { until } from "../support/agent-process.ts";
import { Mosquitto } from "../support/broker/mosquitto.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { rest } from "../support/rest.ts";
import { SeededRandom } from "../support/seeded-random.ts";

export interface FloodOptions {
  /** Half of them wait at the broker for a board that is off; the others arrive while it works. */
  readonly commands: number;
  readonly seed: number;
  readonly progress?: (what: string) => void;
}

export interface FloodReport {
  readonly commands: number;
  /** Commands for which the broker reported "no subscribers". */
  readonly unheard: number;
  /** By the board's own metrics: executed, refused, or answered again. */
  readonly accounted: number;
  /** Commands with a terminal answer; refusals for a rate limit are only counted. */
  readonly answered: number;
  readonly accepted: number;
  readonly seconds: number;
  /** Megabytes: before the flood, and the peak during it. */
  readonly memory: readonly [before: number, peak: number];
  /** Milliseconds of CPU time, and of wall time on a machine that others may use. */
  readonly longestTurn: { readonly cpu: number; readonly wall: number };
  /** The longest time between two renewals of the Lease, in seconds. */
  readonly longestPause: number;
  readonly problems: readonly string[];
}

const me = "sw1/acme/plant7/pi-1";
const site = "sw1/acme/plant7/_site";
/** client-go's defaults: a Lease of 15 s, renewed every 2 s. */
const leader = { duration: "15s", renewDeadline: "10s", retry: "2s" };
const renewDeadline = 10;
/** Seconds until a new leader has subscribed to its site's commands. */
const listensAfter = 6;
const mostGrowth = 16;
/** A command takes up to 8 ms, plus a garbage collection in its turn. Eight commands in one turn took 200. */
const mostCpu = 75;
/** Also the intervals at which the metrics are written. */
const status = { every: "5s", minInterval: "200ms" };
/** Errors of refusals that may pass: the same command may succeed later. */
const passing = ["rate-limited", "busy", "not-leader"];

/**
 * Sends thousands of commands of all kinds: reads, changes, duplicates, typing errors and garbage, from many issuers, for a
 * board and for its site. Each must take effect at most once and be counted, while the board's memory stays bounded and its
 * Lease is renewed.
 */
export async function floodBroker({ commands, seed, progress = () => {} }: FloodOptions): Promise<FloodReport> {
  const acl = mosquittoAcl({ fleet: "acme", sites: new Map([["plant7", ["pi-1"]]]), operators: ["ops"] });
  // The broker keeps thousands of messages, and must not write all of them to disk for each new one.
  const lines = [`max_queued_messages ${2 * commands}`, "autosave_on_changes false", "autosave_interval 3600"];
  const broker = await new Mosquitto({ acl, more: lines }).start();
  const issued = broker.authority.issue("acme/plant7/pi-1");
  const reconnect = { first: "100ms", most: "1s", refused: "1s" };
  const mqtt = { url: broker.url, fleet: "acme", ...issued, ca: broker.authority.file, reconnect };
  const turns = path.join(broker.folder, "turns");
  const trust = path.join(broker.folder, "trust.d");
  const pair = newKeyPair();
  mkdirSync(trust);
  writeFileSync(path.join(trust, "ops.pub"), pair.publicKey);
  const linked = new LinkedSite({
    config: { leader, site: { name: "plant7" }, mqtt, commands: { trust }, status },
    flags: [...nodeFlags, `--import=${path.resolve(import.meta.dirname, "../support/loop-probe.mjs")}`],
    through: ["env", `LOOP_PROBE=${turns}`],
  });
  try {
    await linked.start();
    const sender = new Sender(await broker.client("ops"), new SeededRandom(seed), pair.privateKey);
    await sender.listen();
    const { agent } = linked;
    await until(
      "it leads",
      () => agent.isReady,
      60,
      () => agent.log().slice(-2000),
    );
    await until("it is online", () => sender.isOnline, 30);
    await rest(listensAfter);
    await agent.stop("SIGKILL");
    const waiting = Math.ceil(commands / 2);
    await sender.send(waiting);
    progress(`${waiting} commands wait at the broker`);
    // They must meet a board whose start is complete.
    broker.suspend();
    agent.start();
    await until(
      "it leads again",
      () => agent.isReady,
      60,
      () => agent.log().slice(-2000),
    );
    await rest(5);
    // Resets the peak that the kernel records.
    writeFileSync(`/proc/${agent.pid}/clear_refs`, "5");
    const [begun, asked] = [Date.now(), linked.asked.length];
    broker.resume();
    const before = agent.memory().rss;
    const { term } = agent.status()?.leader ?? {};
    const metrics = path.join(agent.dir, "run/metrics.prom");
    const isTaken = (): boolean => accountedIn(metrics) >= sender.sent;
    await until("the waiting commands were processed", isTaken, 300, () => `${accountedIn(metrics)} of ${sender.sent}`);
    progress(`they were processed after ${Math.round((Date.now() - begun) / 1000)} s; sending the others`);
    await rest(listensAfter);
    await sender.send(commands - waiting);
    await until("the others were processed", isTaken, 300, () => `${accountedIn(metrics)} of ${sender.sent}`);
    const seconds = (Date.now() - begun) / 1000;
    // Accepted commands end, and their answers are sent at the limited rate.
    const unanswered = (): readonly string[] => acceptedIn(agent.log()).filter((id) => !sender.ends.has(id));
    const saidOf = (id: string): string =>
      agent
        .log()
        .split("\n")
        .filter((line) => line.includes(id))
        .join("\n");
    await until(
      "each accepted command was answered",
      () => unanswered().length === 0,
      120,
      () => unanswered().map(saidOf).join("\n"),
    );
    await rest(2);
    const { peak } = agent.memory();
    const accepted = acceptedIn(agent.log());
    const longestTurn = longestIn(readFileSync(turns, "utf8"), begun);
    const renewals = linked.asked
      .slice(asked)
      .filter(({ method, path: at }) => method === "PATCH" && at.includes("siteward-plant7"));
    const longestPause = longestBetween(renewals.map(({ at }) => at));
    const problems = [
      ...sender.contradictions,
      ...twice(accepted).map((id) => `${id} was accepted twice`),
      ...(peak - before > mostGrowth ? [`it grew by ${(peak - before).toFixed(1)} MB`] : []),
      ...(longestTurn.cpu > mostCpu ? [`one turn of its loop took ${longestTurn.cpu} ms of CPU`] : []),
      ...(longestPause > renewDeadline ? [`the Lease was not renewed for ${longestPause.toFixed(1)} s`] : []),
      ...(agent.status()?.leader?.term === term ? [] : ["it lost its term"]),
    ];
    return {
      commands,
      unheard: sender.unheard,
      accounted: accountedIn(metrics),
      answered: sender.ends.size,
      accepted: accepted.length,
      seconds: Math.round(seconds),
      memory: [before, peak],
      longestTurn,
      longestPause,
      problems,
    };
  } finally {
    await linked.stop();
    await broker.stop();
  }
}

interface Sent {
  readonly topic: string;
  readonly payload: string;
  readonly sig?: string;
}

const noSubscribers = 0x10;

class Sender {
  /** Terminal answers by id. */
  readonly ends = new Map<string, string>();
  readonly contradictions: string[] = [];
  isOnline = false;
  sent = 0;
  /** Commands for which the broker reported "no subscribers". */
  unheard = 0;
  readonly #client: MqttClient;
  readonly #random: SeededRandom;
  readonly #privateKey: string;
  readonly #latest: Sent[] = [];
  #number = 0;

  constructor(client: MqttClient, random: SeededRandom, privateKey: string) {
    this.#client = client;
    this.#random = random;
    this.#privateKey = privateKey;
  }

  async listen(): Promise<void> {
    this.#client.on("message", (topic, payload) => this.#hear(topic, String(payload)));
    await this.#client.subscribeAsync(["sw1/acme/plant7/+/res/#", `${me}/up`], { qos: 1 });
  }

  async send(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 50) {
      const batch = Array.from({ length: Math.min(50, left) }, () => this.#next());
      const properties = { messageExpiryInterval: 3600 };
      await Promise.all(
        batch.map(async ({ topic, payload, sig }) => {
          const user = sig === undefined ? {} : { userProperties: { sig, kid: "ops" } };
          const answer = await this.#client.publishAsync(topic, payload, {
            qos: 1,
            properties: { ...properties, ...user },
          });
          if (answer && "reasonCode" in answer && answer.reasonCode === noSubscribers) this.unheard++;
          else this.sent++;
        }),
      );
    }
  }

  #next(): Sent {
    const copied = this.#latest[this.#random.integer(this.#latest.length)];
    const next = copied && this.#random.integer(6) === 0 ? copied : this.#fresh();
    this.#latest[this.#number % 100] = next;
    return next;
  }

  #fresh(): Sent {
    const id = `F-${++this.#number}`;
    const by = `ops:${this.#random.integer(80)}`;
    const given = (place: string, name: string, args: object, more: object = {}): Sent => ({
      topic: `${place}/cmd/${name}/${id}`,
      payload: JSON.stringify({ v: 1, id, name, args, by, reason: "a flood", ...more }),
    });
    const change = (place: string, name: string, args: object): Sent => {
      const command = given(place, name, args, { ctr: this.#number });
      return { ...command, sig: signatureOf(command.topic, Buffer.from(command.payload), this.#privateKey) };
    };
    switch (this.#random.integer(12)) {
      case 0:
        return change(me, "board.cordon", {});
      case 1:
        return change(me, "board.uncordon", {});
      case 2:
        return change(site, "eviction.freeze", { ttl: 3600 });
      case 3:
        return change(site, "eviction.thaw", {});
      case 4:
        return given(me, "no.such", {});
      case 5:
        return given(me, "ping", {}, { id: "another" });
      case 6:
        return given(me, "ping", {}, { reason: "r".repeat(60_000) });
      case 7:
        return { topic: `${me}/cmd/ping/${id}`, payload: "[".repeat(1 + this.#random.integer(50_000)) };
      case 8:
        return given(me, "status.get", { detail: "full" });
      default:
        return given(me, "ping", { echo: id });
    }
  }

  #hear(topic: string, payload: string): void {
    const body = JSON.parse(payload) as { state: string; error?: string; replayed?: boolean };
    if (topic === `${me}/up`) this.isOnline = body.state === "online";
    const [, id] = /\/res\/[^/]+\/([^/]+)$/.exec(topic) ?? [];
    if (id === undefined || body.state === "accepted" || body.state === "running") return;
    // A temporary refusal is not final.
    if (passing.includes(body.error ?? "")) return;
    const before = this.ends.get(id);
    const end = body.error ?? body.state;
    if (before !== undefined && before !== end) this.contradictions.push(`${id}: ${before}, then ${end}`);
    this.ends.set(id, end);
  }
}

const acceptedIn = (log: string): readonly string[] =>
  [...log.matchAll(/command accepted.*?\bid[=:]"?(F-\d+)/g)].map(([, id = ""]) => id);

const twice = (ids: readonly string[]): readonly string[] => ids.filter((id, index) => ids.indexOf(id) !== index);

/** Counts each processed command once: an end with an error is among the refusals. */
function accountedIn(file: string): number {
  const families = parseExposition(readFileSync(file, "utf8"));
  const sum = (name: string, counts: (labels: Readonly<Record<string, string>>) => boolean = () => true): number =>
    (families.get(`siteward_${name}_total`)?.samples ?? [])
      .filter(({ labels }) => counts(labels))
      .reduce((all, { value }) => all + value, 0);
  const hasNoError = ({ state }: Readonly<Record<string, string>>): boolean =>
    state === "succeeded" || state === "cancelled";
  return sum("cmd_ended", hasNoError) + sum("cmd_rejected") + sum("cmd_replayed");
}

function longestIn(turns: string, since: number): { readonly cpu: number; readonly wall: number } {
  const lines = turns
    .trim()
    .split("\n")
    .map((line) => line.split(" ").map(Number));
  // The first line includes the start.
  const counted = lines.filter(([at = 0]) => at > since + 1000);
  return {
    cpu: Math.max(...counted.map(([, cpu = 0]) => cpu)),
    wall: Math.max(...counted.map(([, , wall = 0]) => wall)),
  };
}

const longestBetween = (times: readonly number[]): number =>
  Math.max(...times.map((at, index) => (at - (times[index - 1] ?? at)) / 1000));
