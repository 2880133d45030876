import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";
import type { StatusContribution } from "../status/contribution.ts";
import type { Companion, CompanionDeps } from "./companion.ts";

export interface CredentialsWatchDeps extends Pick<CompanionDeps, "checkCredentials"> {
  /** Whether the API server is currently responding. */
  readonly isUp: () => boolean;
}

const period: Millis = 300_000;

/**
 * Reports credentials that have become unusable while a connection made with the previous ones is still open: an empty
 * kubeconfig after a failed rotation, an expired certificate. Otherwise they would go unnoticed until the connection is
 * lost.
 */
export class CredentialsWatch implements Companion {
  readonly name = "credentials";
  readonly #ambient: Ambient;
  readonly #deps: CredentialsWatchDeps;
  #problem: { readonly message: string; readonly hint: string | undefined } | undefined;

  constructor(ambient: Ambient, deps: CredentialsWatchDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#ambient.clock, period, signal);
      if (!signal.aborted) await this.#check();
    }
  }

  contribution(): StatusContribution {
    // Without a connection, the link reports it instead.
    if (this.#problem === undefined || !this.#deps.isUp()) return {};
    const { message, hint } = this.#problem;
    const meanwhile = "; the current connection continues with the previous credentials, but cannot be reopened";
    return {
      problems: [{ type: "CredentialsUnusable", severity: "warning", message: `${message}${meanwhile}`, hint }],
    };
  }

  async #check(): Promise<void> {
    try {
      await this.#deps.checkCredentials();
      this.#problem = undefined;
    } catch (error) {
      this.#problem = { message: sentenceOf(error), hint: hintOf(error) };
    }
  }
}
