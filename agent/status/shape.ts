/**
 * Describes a document once: its type is derived from it, and input is checked against it. Unknown members are ignored,
 * so that older readers understand newer writers.
 */
export interface Shape<T> {
  /** What is wrong, with its path; `undefined`: valid. */
  problem(value: unknown, path: string): string | undefined;
  /** Never set: it carries the type. */
  readonly type?: T;
}

export interface MaybeShape<T> extends Shape<T> {
  readonly maybe: true;
}

type Members = Readonly<Record<string, Shape<unknown>>>;
type OptionalNames<M extends Members> = { [K in keyof M]: M[K] extends MaybeShape<unknown> ? K : never }[keyof M];

export type TypeOf<S> = S extends Shape<infer T> ? T : never;
export type RecordOf<M extends Members> = {
  readonly [K in Exclude<keyof M, OptionalNames<M>>]: TypeOf<M[K]>;
} & { readonly [K in OptionalNames<M>]?: TypeOf<M[K]> | undefined };

const simple = <T>(name: string, is: (value: unknown) => boolean): Shape<T> => ({
  problem: (value, path) => (is(value) ? undefined : `${path} is not ${name}`),
});

export const text: Shape<string> = simple("text", (value) => typeof value === "string");
export const count: Shape<number> = simple("a number", (value) => typeof value === "number");
export const yesNo: Shape<boolean> = simple("true or false", (value) => typeof value === "boolean");

/** Any text passes: a newer writer may use other words. */
export const word = <W extends string>(): Shape<W> => text as Shape<W>;

export const list = <T>(item: Shape<T>): Shape<readonly T[]> => ({
  problem(value, path) {
    if (!Array.isArray(value)) return `${path} is not a list`;
    for (const [at, one] of value.entries()) {
      const problem = item.problem(one, `${path}[${at}]`);
      if (problem) return problem;
    }
    return undefined;
  },
});

export const record = <M extends Members>(members: M): Shape<RecordOf<M>> => ({
  problem(value, path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return `${path} is not an object`;
    for (const [name, member] of Object.entries(members)) {
      const problem = member.problem((value as Readonly<Record<string, unknown>>)[name], `${path}.${name}`);
      if (problem) return problem;
    }
    return undefined;
  },
});

/** An optional member. */
export const maybe = <T>(shape: Shape<T>): MaybeShape<T> => ({
  maybe: true,
  problem: (value, path) => (value === undefined ? undefined : shape.problem(value, path)),
});
