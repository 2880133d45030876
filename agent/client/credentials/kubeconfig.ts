import { CORE_SCHEMA, load } from "js-yaml";
import { isFields, type ParsedFields } from "../../api/shape-rules.ts";
import { CredentialsError } from "./credentials-error.ts";

/** One context of a kubeconfig: the fields of its cluster and of its user, as in the file. */
export interface KubeconfigContext {
  readonly context: string;
  readonly namespace: string | undefined;
  readonly cluster: KubeconfigSection;
  readonly user: KubeconfigSection;
}

/** Selects a context, by default the file's current-context. Throws CredentialsError. */
export function kubeconfigContext(text: string, file: string, context: string | undefined): KubeconfigContext {
  const document = parsed(text, file);
  const contexts = new Table(document, file, "contexts", "context");
  const name = context ?? document["current-context"];
  if (typeof name !== "string" || name === "") {
    const known = contexts.names.join(", ");
    throw new CredentialsError(
      `kubeconfig ${file} has no current-context`,
      known === ""
        ? "It defines no context at all: fetch a complete kubeconfig."
        : `Name one of its contexts (${known}), or set current-context in it.`,
    );
  }
  const chosen = contexts.section(name, "");
  const cluster = new Table(document, file, "clusters", "cluster").section(chosen.text("cluster"), name);
  const userName = chosen.text("user");
  const noUser = new KubeconfigSection({}, `kubeconfig ${file}`);
  const user = userName === undefined ? noUser : new Table(document, file, "users", "user").section(userName, name);
  return { context: name, namespace: chosen.text("namespace"), cluster, user };
}

function parsed(text: string, file: string): ParsedFields {
  let document: unknown;
  try {
    document = load(text, { schema: CORE_SCHEMA });
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    throw new CredentialsError(`kubeconfig ${file} is not YAML: ${reason}`, "Correct the file, or fetch it again.");
  }
  if (isFields(document)) return document;
  throw new CredentialsError(`kubeconfig ${file} is not a kubeconfig`, "Fetch it again.");
}

/** One of the named lists of a kubeconfig. */
class Table {
  readonly #file: string;
  readonly #list: "contexts" | "clusters" | "users";
  readonly #part: "context" | "cluster" | "user";
  readonly #items: readonly ParsedFields[];

  constructor(document: ParsedFields, file: string, list: Table["list"], part: Table["part"]) {
    this.#file = file;
    this.#list = list;
    this.#part = part;
    const items: unknown = document[list];
    this.#items = Array.isArray(items) ? items.filter(isFields) : [];
  }

  get list(): "contexts" | "clusters" | "users" {
    return this.#list;
  }

  get part(): "context" | "cluster" | "user" {
    return this.#part;
  }

  get names(): readonly string[] {
    return this.#items.flatMap(({ name }) => (typeof name === "string" ? [name] : []));
  }

  section(name: string | undefined, context: string): KubeconfigSection {
    const item = this.#items.find((item) => item.name === name);
    if (item === undefined || name === undefined) {
      const wanted = name === undefined ? `no ${this.#part}` : `no ${this.#part} "${name}"`;
      const by = context === "" ? "" : `, which context "${context}" needs`;
      throw new CredentialsError(
        `kubeconfig ${this.#file} has ${wanted}${by}`,
        `Its ${this.#list} are: ${this.names.join(", ") || "none"}.`,
      );
    }
    const fields = item[this.#part];
    return new KubeconfigSection(isFields(fields) ? fields : {}, `kubeconfig ${this.#file}: ${this.#part} "${name}"`);
  }
}

/** The fields of one cluster, user or context; reading a field of a wrong type throws. */
export class KubeconfigSection {
  readonly #fields: ParsedFields;
  /** Begins every error message about this section: "kubeconfig /etc/kube/config: user \"admin\"". */
  readonly where: string;

  constructor(fields: ParsedFields, where: string) {
    this.#fields = fields;
    this.where = where;
  }

  has(name: string): boolean {
    return this.#fields[name] !== undefined && this.#fields[name] !== null;
  }

  /** The value of a string field; undefined if it is absent or empty. */
  text(name: string): string | undefined {
    const value = this.#fields[name] ?? "";
    if (typeof value === "string") return value === "" ? undefined : value;
    throw this.error(`${name} is not text`, "Put its value in quotes.");
  }

  flag(name: string): boolean {
    const value = this.#fields[name] ?? false;
    if (typeof value === "boolean") return value;
    throw this.error(`${name} is neither true nor false`, "Write true or false, without quotes.");
  }

  fields(name: string): ParsedFields | undefined {
    const value = this.#fields[name];
    return isFields(value) ? value : undefined;
  }

  /** Decodes a base64 field, such as the "-data" fields. */
  decoded(name: string): string | undefined {
    const text = this.text(name)?.replace(/\s/g, "");
    if (text === undefined) return undefined;
    if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text))
      return Buffer.from(text, "base64").toString("utf8");
    throw this.error(`${name} is not base64`, "Encode the file with: base64 -w0 FILE");
  }

  error(what: string, hint: string): CredentialsError {
    return new CredentialsError(`${this.where}: ${what}`, hint);
  }
}
