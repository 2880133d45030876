import { BrokenPromise, type Target } from "./target.ts";

const reader = (name: string, form: Target["form"], example: string, run: (input: Buffer) => boolean): Target => ({
  name,
  form,
  open: () => ({ example: () => example, run }),
});

const kept: Buffer[] = [];
let applied = "";

/** Readers with one defect each, which a run must detect. */
export const targets: readonly Target[] = [
  reader("quadratic", "text", ",".repeat(12_000), (input) => input.toString().split(/,(?![^()]*\))/).length > 1),
  reader("throws", "json", '{"metadata":{"name":"web","labels":{"app":"web"}}}', (input) => {
    let value: { metadata: { labels: Record<string, string> } };
    try {
      value = JSON.parse(input.toString());
    } catch {
      return false;
    }
    return Object.keys(value.metadata.labels).length > 0;
  }),
  reader("overflows", "json", '{"a":{"b":[1]}}', (input) => {
    const depth = (value: unknown): number =>
      typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;
    try {
      return depth(JSON.parse(input.toString())) > 0;
    } catch (error) {
      if (error instanceof SyntaxError) return false;
      throw error;
    }
  }),
  reader("grows", "bytes", "x", () => kept.push(Buffer.alloc(65_536)) > 0),
  reader("half-applied", "text", "key=value;", (input) => {
    const [key = "", value] = input.toString("latin1").split("=");
    const before = applied;
    applied = key;
    if (value === undefined && applied !== before) throw new BrokenPromise("a refused input has no effect");
    return true;
  }),
  reader("endless", "text", "M3.5.0", (input) => {
    const month = Number(/^M(\d{1,2})/.exec(input.toString())?.[1] ?? 3);
    while (new Date(Date.UTC(2026, month - 1, 1)).getUTCMonth() !== month - 1);
    return true;
  }),
];
