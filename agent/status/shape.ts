/**
 * What a document may hold, said once: the type follows from it, and what was read from a file is checked against it.
 * Members that are not named are ignored, so that an older reader understands a newer writer.
 */
export interface Shape<T> {
  /** What is wrong, with its path; `undefined`: nothing. */
  problem(value: unknown, path: string): string | undefined;
  /** Never there; it carries the type. */
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

/** Not checked against the words: a newer writer may have found another. */
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

/** A member that may be left out. */
export const maybe = <T>(shape: Shape<T>): MaybeShape<T> => ({
  maybe: true,
  problem: (value, path) => (value === undefined ? undefined : shape.problem(value, path)),
});
