import type { Clock, Millis } from "../base/clock.ts";
import type { Notifier } from "./sd-notify.ts";

/** Maximum length of the status line in `systemctl status`. */
const longestLine = 100;

/** Talks to systemd: sd_notify(3), docs/interfaces.md#systemd. Without systemd, messages are dropped. */
export class ServiceManager {
  readonly #clock: Clock;
  readonly #notifier: Notifier;
  #isReady = false;
  #line = "";

  constructor({ clock }: { readonly clock: Clock }, { notifier }: { readonly notifier: Notifier }) {
    this.#clock = clock;
    this.#notifier = notifier;
  }

  /** Configuration read, databases open, status written. Independent of any link. */
  ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#notifier.tell("READY=1");
  }

  /** READY=1 must follow in any case. */
  reloading(): void {
    this.#isReady = false;
    this.#notifier.tell(`RELOADING=1\nMONOTONIC_USEC=${Math.round(this.#clock.now().mono * 1000)}`);
  }

  stopping(): void {
    this.#notifier.tell("STOPPING=1");
  }

  /** Extends the timeout of the current start, reload or stop, counted from now. */
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
