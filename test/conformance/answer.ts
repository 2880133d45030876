import { isJsonObject, itemsAt, type JsonObject, type JsonValue, textAt, valueAt } from "../../agent/api/json.ts";
import { holds, same, shown, Unmet } from "./unmet.ts";

/** A response with its request: a rule that is not met names both. */
export class Answer {
  readonly request: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The bytes on the wire of a compressed response. */
  readonly wireBytes: number;

  constructor(
    request: string,
    status: number,
    headers: Readonly<Record<string, string>>,
    text: string,
    wireBytes: number,
  ) {
    this.request = request;
    this.status = status;
    this.headers = headers;
    this.text = text;
    this.wireBytes = wireBytes;
  }

  get body(): JsonObject {
    const value = parsed(this.text);
    if (!isJsonObject(value)) throw new Unmet(this.request, "a JSON object", this.#came());
    return value;
  }

  get items(): readonly JsonValue[] {
    return itemsAt(this.body, "items");
  }

  /** "metadata.name" of every item. */
  get names(): readonly string[] {
    return this.items.map((item) => textAt(item, "metadata", "name"));
  }

  /** metadata.resourceVersion of the object or list. */
  get version(): string {
    const version = this.textAt("metadata", "resourceVersion");
    if (version === "") throw new Unmet(this.request, "a metadata.resourceVersion", this.#came());
    return version;
  }

  get uid(): string {
    return this.textAt("metadata", "uid");
  }

  at(...path: readonly string[]): JsonValue | undefined {
    return valueAt(this.body, ...path);
  }

  textAt(...path: readonly string[]): string {
    return textAt(this.body, ...path);
  }

  is(status: number): this {
    if (this.status !== status) throw new Unmet(this.request, `status ${status}`, this.#came());
    return this;
  }

  /** Checks the Status document of a failure, by which clients distinguish failures. */
  fails(code: number, reason: string): this {
    const { status } = this;
    const body = parsed(this.text);
    const [kind, its, said] = [textAt(body, "kind"), textAt(body, "reason"), textAt(body, "status")];
    const right = status === code && kind === "Status" && its === reason && said === "Failure";
    if (!right || valueAt(body, "code") !== code) {
      throw new Unmet(this.request, `${code} with a Status of reason ${reason}`, this.#came());
    }
    if (textAt(body, "message") === "") throw new Unmet(this.request, "a Status with a message", this.#came());
    return this;
  }

  /** The value at a path; `undefined` if there is none. */
  shows(expected: JsonValue | undefined, ...path: readonly string[]): this {
    same(this.request, path.join(".") || "the answer", this.at(...path), expected);
    return this;
  }

  /** Checks that it is a list of objects of these names, in this order. */
  lists(names: readonly string[]): this {
    return this.is(200).same("names", this.names, names);
  }

  same(what: string, actual: unknown, expected: unknown): this {
    same(this.request, what, actual, expected);
    return this;
  }

  holds(expected: string, actual: unknown, condition: boolean): this {
    holds(this.request, expected, actual, condition);
    return this;
  }

  #came(): string {
    return `${this.status} ${shown(this.text)}`;
  }
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
