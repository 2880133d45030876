import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { nodeFlags } from "../../agent/board/profile/runtime-flags.ts";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { fastTime } from "../support/fast-time.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { SeededChance } from "../support/load-chance.ts";
import { rest } from "../support/rest.ts";
import { EndingWatches } from "./ending-watches.ts";

export interface EnduranceOptions {
  /** The number of changes of leader between the two agents. */
  readonly terms: number;
  /** The number of watches that the leader opens and the server soon ends. */
  readonly watches: number;
  readonly seed: number;
  /** A folder for temporary files. */
  readonly dir: string;
  /** The number of samples in each phase. */
  readonly looks: number;
  readonly say: (line: string) => void;
}

/** The resources of an agent after a full garbage collection. */
export interface Held {
  readonly heap: number;
  readonly rss: number;
  readonly descriptors: number;
  /** Active resources of Node: timers, sockets, requests. */
  readonly resources: number;
  /** The size of the databases without their logs, which start over when they are full. */
  readonly disk: number;
  readonly logs: number;
}

export interface HeldAt {
  /** Changes of leader, or watches opened, so far. */
  readonly step: number;
  readonly agents: Readonly<Record<string, Held>>;
}

export interface Endured {
  readonly terms: readonly HeldAt[];
  readonly watches: readonly HeldAt[];
  readonly harm: readonly string[];
}

/** The factor by which time is faster for the agents: two renewals are half a second apart, whatever the settings. */
const pace = 20;
const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-endurance";

const config = {
  site: { name: "endurance" },
  leader: { duration: "60s", renewDeadline: "40s", retry: "200ms", followers: "poll" },
  // Bookmarks follow the server's clock.
  link: { watchStall: "1h" },
  nodeLifecycle: { gracePeriod: "10m" },
  client: { qps: 1000, burst: 1000 },
  status: { minInterval: "200ms" },
  log: { level: "error" },
};

/** Two real agents on the embedded site, and their resources during repeated changes of leader and ends of watches. */
export class Endurance {
  readonly #options: EnduranceOptions;
  readonly #chance: SeededChance;
  readonly #endings: EndingWatches;
  readonly #site: LinkedSite;
  #agents: readonly AgentProcess[] = [];

  constructor(options: EnduranceOptions) {
    this.#options = options;
    this.#chance = new SeededChance(options.seed);
    this.#endings = new EndingWatches(this.#chance);
    const probe = path.join(import.meta.dirname, "memory-probe.mjs");
    this.#site = new LinkedSite({
      config,
      through: fastTime(options.dir, pace),
      flags: [...nodeFlags, "--import", probe],
      around: (request, ask) => this.#endings.around(request, ask),
    });
  }

  async run(): Promise<Endured> {
    const site = this.#site;
    await site.start();
    try {
      await this.#until("the first agent leads", () => site.agent.isReady, 60);
      this.#agents = [site.agent, site.join("pi-2", fastTime(this.#options.dir, pace))];
      const terms = await this.#changes();
      const watches = await this.#restarts();
      return { terms, watches, harm: site.harm };
    } finally {
      await site.stop();
    }
  }

  async #changes(): Promise<readonly HeldAt[]> {
    const { terms, looks } = this.#options;
    const found = [await this.#look(0)];
    let last = (await this.#lease()).term;
    for (let term = 1; term <= terms; term++) {
      // At any moment of a term: before its controllers run, while they start, after they have finished.
      await rest((2 * this.#chance.next()) / pace);
      await this.#release();
      last = await this.#nextTerm(last);
      if (isTurn(term, terms, looks)) found.push(await this.#look(term));
    }
    return found;
  }

  async #restarts(): Promise<readonly HeldAt[]> {
    const { watches, looks } = this.#options;
    const found = [await this.#look(0)];
    for (let look = 1; look <= looks && watches > 0; look++) {
      const wanted = Math.round((look * watches) / looks);
      this.#endings.begin();
      await this.#until("its watches were opened again", () => this.#endings.ended >= wanted, 600);
      this.#endings.pause();
      // All connections break at once too, followed by a backoff.
      if (this.#chance.below(3) === 0) this.#site.link.reset();
      found.push(await this.#look(this.#endings.ended));
    }
    return found;
  }

  /** Always in the same roles: a leader holds more than a follower. */
  async #look(step: number): Promise<HeldAt> {
    const [first] = this.#agents;
    for (;;) {
      const { holder, term } = await this.#lease();
      if (holder.startsWith(`${first?.board}_`)) break;
      await this.#release();
      await this.#nextTerm(term);
    }
    await this.#until("the first agent leads", () => first?.isReady === true, 60);
    await rest(20 / pace);
    const agents: Record<string, Held> = {};
    for (const agent of this.#agents) agents[agent.board] = await this.#held(agent);
    const shown = Object.values(agents).map(
      ({ heap, rss, descriptors, resources, disk, logs }) =>
        `heap ${mb(heap)}, rss ${mb(rss)} MB, ${descriptors} fd, ${resources} timers and sockets, disk ${mb(disk)} + ${mb(logs)} MB`,
    );
    this.#options.say(`${String(step).padStart(7)}  leads: ${shown[0]};  follows: ${shown[1]}`);
    return { step, agents };
  }

  async #held({ pid, dir }: AgentProcess): Promise<Held> {
    const file = path.join(dir, "memory.json");
    rmSync(file, { force: true });
    process.kill(pid, "SIGUSR2");
    let measured: { readonly heap: number; readonly rss: number; readonly resources: number } | undefined;
    const isTold = (): boolean => {
      try {
        measured = JSON.parse(readFileSync(file, "utf8"));
      } catch {
        // Missing or incomplete.
      }
      return measured !== undefined;
    };
    await this.#until("the memory is counted", isTold, 30);
    if (measured === undefined) throw new Error("nothing was counted");
    const state = path.join(dir, "state");
    const size = (ending: RegExp): number =>
      readdirSync(state)
        .filter((name) => ending.test(name))
        .reduce((sum, name) => sum + sizeOf(path.join(state, name)), 0);
    return {
      ...measured,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      disk: size(/\.db$/),
      logs: size(/-wal$/),
    };
  }

  async #lease(): Promise<{ readonly holder: string; readonly term: number }> {
    const { spec } = await this.#site.request<{ spec: { holderIdentity?: string; leaseTransitions?: number } }>(
      "GET",
      lease,
    );
    return { holder: spec.holderIdentity ?? "", term: spec.leaseTransitions ?? 0 };
  }

  /** Changes the Lease like an administrator: its holder notices at its next renewal. */
  #release(): Promise<unknown> {
    return this.#site.request("PATCH", lease, { spec: { holderIdentity: "" } }, "application/merge-patch+json");
  }

  async #nextTerm(before: number): Promise<number> {
    let found = before;
    const isNext = async (): Promise<boolean> => {
      const { holder, term } = await this.#lease();
      found = term;
      return holder !== "" && term > before;
    };
    // Mostly sooner than a poll 20 times a second can see.
    for (let tries = 0; tries < 20 && !(await isNext()); tries++) await rest(0.01);
    await this.#until("the next term begins", isNext, 60);
    return found;
  }

  #until(what: string, holds: () => boolean | Promise<boolean>, seconds: number): Promise<number> {
    return until(what, holds, seconds, () => this.#site.agent.log().slice(-2000));
  }
}

/** Whether a sample is due at this step. */
const isTurn = (step: number, steps: number, looks: number): boolean =>
  Math.floor((step * looks) / steps) > Math.floor(((step - 1) * looks) / steps);

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

const mb = (bytes: number): string => (bytes / 2 ** 20).toFixed(2);
