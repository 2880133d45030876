import { type Clock, elapsed, type Instant } from "../../base/clock.ts";
import { bearerToken } from "./bearer-token.ts";
import { readCredentialFile } from "./credential-file.ts";
import { CredentialsError } from "./credentials-error.ts";

const reloadAfter = 60_000;

/**
 * A bearer token in a file that another program renews. Read again each minute; if that fails, the last token is used.
 */
export class TokenFile {
  readonly #clock: Clock;
  readonly #file: string;
  #token: string | undefined;
  #readAt: Instant | undefined;

  constructor(clock: Clock, file: string) {
    this.#clock = clock;
    this.#file = file;
  }

  async token(): Promise<string> {
    const now = this.#clock.now();
    if (this.#token !== undefined && this.#readAt && elapsed(this.#readAt, now) < reloadAfter) return this.#token;
    try {
      this.#token = await this.#read();
    } catch (error) {
      if (this.#token === undefined) throw error;
    }
    this.#readAt = now;
    return this.#token;
  }

  /** To be called if the token was not accepted; makes the next `token` read the file. */
  forget(): void {
    this.#readAt = undefined;
  }

  async #read(): Promise<string> {
    const token = bearerToken(await readCredentialFile(this.#file, "token file"), `token file ${this.#file}`);
    if (token === undefined) throw new CredentialsError(`token file ${this.#file} is empty`, "Put a token into it.");
    return token;
  }
}
