import type { Ambient } from "../../agent/base/ambient.ts";
import { type Millis, sleep } from "../../agent/base/clock.ts";
import type { BoardPlate } from "../cluster/board-node.ts";
import type { AgentProcess } from "./agent-process.ts";
import { type LinkState, linkUp, type Relay } from "./relay.ts";

export type LinkShown = "up" | "cut" | "slow" | "flapping";

/** What a board needs from its agent. */
export type BoardAgent = Pick<AgentProcess, "state" | "run" | "kill" | "suspend" | "resume" | "memory">;

/** One boot: from power-on to power-off. */
interface Boot {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/**
 * A board with its power, one link for all traffic, a kubelet and an agent. A fault affects the kubelet and the agent
 * alike, as on a real board.
 */
export class SimulatedBoard {
  readonly plate: BoardPlate;
  readonly agent: BoardAgent;
  readonly #ambient: Ambient;
  readonly #relay: Pick<Relay, "set" | "reset">;
  readonly #boot: (signal: AbortSignal) => Promise<void>;
  #running: Boot | undefined;
  #link: LinkState = linkUp;
  #flapping: AbortController | undefined;

  constructor(
    ambient: Ambient,
    deps: {
      readonly plate: BoardPlate;
      readonly relay: Pick<Relay, "set" | "reset">;
      readonly agent: BoardAgent;
      /** Runs the kubelet from power-on until the signal aborts. Called for each boot. */
      readonly boot: (signal: AbortSignal) => Promise<void>;
    },
  ) {
    this.#ambient = ambient;
    this.plate = deps.plate;
    this.agent = deps.agent;
    this.#relay = deps.relay;
    this.#boot = deps.boot;
  }

  get power(): "on" | "off" {
    return this.#running ? "on" : "off";
  }

  get link(): LinkShown {
    if (this.#flapping) return "flapping";
    if (this.#link.is !== "up") return "cut";
    return this.#link.delay > 0 ? "slow" : "up";
  }

  /** Keeps the board powered on until the signal aborts, then shuts it down cleanly. */
  async run(signal: AbortSignal): Promise<void> {
    this.powerOn();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    this.#flapping?.abort();
    this.#setLink(linkUp);
    await this.#shutDown();
  }

  powerOn(): void {
    if (this.#running) return;
    const controller = new AbortController();
    const { signal } = controller;
    this.#relay.reset();
    const ended = Promise.all([this.#boot(signal), this.agent.run(signal)]).then(
      () => undefined,
      (error: unknown) => this.#ambient.log.error("a board crashed", { board: this.plate.name, error }),
    );
    this.#running = { controller, ended };
    this.#apply();
  }

  /** Cuts the power. The other end of the link is not notified. */
  powerOff(): void {
    const boot = this.#running;
    this.#running = undefined;
    this.#apply();
    this.agent.kill();
    boot?.controller.abort();
  }

  /** Reboots the board cleanly, which takes `pause`, so that the agent can shut down properly. */
  async restart(pause: Millis, signal: AbortSignal): Promise<void> {
    await this.#shutDown();
    await sleep(this.#ambient.clock, pause, signal);
    if (!signal.aborted) this.powerOn();
  }

  /** Cuts the link. silent: like an unplugged cable. refused: like a firewall that resets every connection. */
  cut(how: "silent" | "refused"): void {
    this.#endFlapping();
    this.#setLink({ is: how });
  }

  restore(): void {
    this.#endFlapping();
    this.#setLink(linkUp);
  }

  slow(delay: Millis): void {
    this.#endFlapping();
    this.#setLink({ is: "up", delay });
  }

  /** Takes the link down and up alternately until its state is set again. */
  flap(down: Millis, up: Millis): void {
    this.#endFlapping();
    const controller = new AbortController();
    this.#flapping = controller;
    void this.#flap(down, up, controller.signal);
  }

  async #flap(down: Millis, up: Millis, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#setLink({ is: "silent" });
      await sleep(this.#ambient.clock, down, signal);
      if (signal.aborted) return;
      this.#setLink(linkUp);
      await sleep(this.#ambient.clock, up, signal);
    }
  }

  #endFlapping(): void {
    this.#flapping?.abort();
    this.#flapping = undefined;
  }

  async #shutDown(): Promise<void> {
    const boot = this.#running;
    boot?.controller.abort();
    await boot?.ended;
    this.#running = undefined;
    this.#apply();
  }

  #setLink(link: LinkState): void {
    this.#link = link;
    this.#apply();
  }

  /** Applies the state of the link. A board without power has no link, regardless of the state of the cable. */
  #apply(): void {
    this.#relay.set(this.#running ? this.#link : { is: "silent" });
  }
}
