import type { Clock, Millis } from "../base/clock.ts";
import type { Notifier } from "./sd-notify.ts";

/** A line of `systemctl status` that is longer says no more. */
const longestLine = 100;

/**
 * The conversation with systemd: sd_notify(3), docs/interfaces.md#systemd. Without one it is a conversation with
 * nobody.
 */
export class ServiceManager {
  readonly #clock: Clock;
  readonly #notifier: Notifier;
  #isReady = false;
  #line = "";

  constructor({ clock }: { readonly clock: Clock }, { notifier }: { readonly notifier: Notifier }) {
    this.#clock = clock;
    this.#notifier = notifier;
  }

  /** The configuration is read, the databases are open, the status is written. Says nothing about any link. */
  ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#notifier.tell("READY=1");
  }

  /** READY=1 has to follow, whatever becomes of it. */
  reloading(): void {
    this.#isReady = false;
    this.#notifier.tell(`RELOADING=1\nMONOTONIC_USEC=${Math.round(this.#clock.now().mono * 1000)}`);
  }

  stopping(): void {
    this.#notifier.tell("STOPPING=1");
  }

  /** The start, the reload or the stop that is under way takes so much longer, from now on. */
  extend(by: Millis): void {
    this.#notifier.tell(`EXTEND_TIMEOUT_USEC=${Math.round(by * 1000)}`);
  }

  alive(): void {
    this.#notifier.tell("WATCHDOG=1");
  }

  status(text: string): void {
    const one = text.replaceAll("\n", " ");
    const line = one.length > longestLine ? `${one.slice(0, longestLine - 1)}…` : one;
    if (line === this.#line) return;
    this.#line = line;
    this.#notifier.tell(`STATUS=${line}`);
  }
}
