import { type ApiRequest, type ApiResponse, json } from "./exchange.ts";

/** User agents of programs that people use interactively. */
const readers = /^(curl|Wget|Mozilla\/5\.0)/;

/**
 * Whether the response is formatted for reading: as requested or, otherwise, depending on the user agent, as on the
 * real server.
 */
export function wantsPretty(query: URLSearchParams, userAgent: string): boolean {
  const asked = query.get("pretty") ?? "";
  return asked === "" ? readers.test(userAgent) : ["1", "t", "true"].includes(asked.toLowerCase());
}

/** The same response with line breaks and indentation, formatted while it is sent. */
export function prettyResponse({ status, headers, body }: ApiResponse): ApiResponse {
  return headers["content-type"] === json ? { status, headers, body: laidOut(body) } : { status, headers, body };
}

export const isWatch = ({ path }: ApiRequest): boolean => /[?&]watch=(?!0\b|false\b)/.test(path);

async function* laidOut(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const layout = new Layout();
  for await (const part of body) yield encoder.encode(layout.of(decoder.decode(part, { stream: true })));
}

/** Formats compact JSON, chunk by chunk. */
class Layout {
  #depth = 0;
  #inText = false;
  #escaped = false;
  /** True after an opening bracket that is still empty. */
  #opened = false;

  of(text: string): string {
    let out = "";
    for (const character of text) out += this.#inText ? this.#within(character) : this.#between(character);
    return out;
  }

  #within(character: string): string {
    if (this.#escaped) this.#escaped = false;
    else if (character === "\\") this.#escaped = true;
    else if (character === '"') this.#inText = false;
    return character;
  }

  #between(character: string): string {
    if (character === "}" || character === "]") {
      this.#depth--;
      const empty = this.#opened;
      this.#opened = false;
      return (empty ? "" : this.#newLine()) + character;
    }
    const begin = this.#opened ? this.#newLine() : "";
    this.#opened = false;
    if (character === "{" || character === "[") {
      this.#depth++;
      this.#opened = true;
    }
    if (character === '"') this.#inText = true;
    return begin + character + (character === "," ? this.#newLine() : character === ":" ? " " : "");
  }

  readonly #newLine = (): string => `\n${"  ".repeat(this.#depth)}`;
}
