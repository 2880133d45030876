import type { Clock, Millis } from "../base/clock.ts";
import type { Notifier } from "./sd-notify.ts";

/** Maximum length of the status line in `systemctl status`. */
const maxLineLength = 100;

/** Reports the state of the process to systemd: sd_notify(3), docs/interfaces.md#systemd. */
export class ServiceManager {
  readonly #clock: Clock;
  readonly #notifier: Notifier;
  #isReady = false;
  #line = "";

  constructor({ clock }: { readonly clock: Clock }, { notifier }: { readonly notifier: Notifier }) {
    this.#clock = clock;
    this.#notifier = notifier;
  }

  /**
   * Reports that the configuration is read, the databases are open and the status is written. The links may still be
   * down.
   */
  ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#notifier.send("READY=1");
  }

  /** Reports that a reload begins. `ready` must be called when the reload has ended, even if it failed. */
  reloading(): void {
    this.#isReady = false;
    this.#notifier.send(`RELOADING=1\nMONOTONIC_USEC=${Math.round(this.#clock.now().mono * 1000)}`);
  }

  stopping(): void {
    this.#notifier.send("STOPPING=1");
  }

  /** Extends the timeout of the current start, reload or stop, counted from now. */
  extend(by: Millis): void {
    this.#notifier.send(`EXTEND_TIMEOUT_USEC=${Math.round(by * 1000)}`);
  }

  alive(): void {
    this.#notifier.send("WATCHDOG=1");
  }

  status(text: string): void {
    const one = text.replaceAll("\n", " ");
    const line = one.length > maxLineLength ? `${one.slice(0, maxLineLength - 1)}…` : one;
    if (line === this.#line) return;
    this.#line = line;
    this.#notifier.send(`STATUS=${line}`);
  }
}
