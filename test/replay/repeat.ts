import { isRecord } from "../../agent/base/json.ts";
import { type JsonSchema, memberOf, quoted } from "./form.ts";
import { MalformedCase } from "./malformed.ts";

const mostCopies = 10_000;

export const repeatSchema: JsonSchema = {
  description:
    "In place of items of any list of a case: `repeat` copies of `item`, counted by n from 0. Every text in a copy, names of " +
    "members included, may use the count: {n}, {n+31}, {n/256} (rounded down), {n%256}, {100-n}; {n:3} pads with zeros to " +
    "three digits. Inside a repeat within a repeat, n counts the inner one. Messages name places in the expanded case.",
  type: "object",
  required: ["repeat", "item"],
  additionalProperties: false,
  properties: {
    repeat: { type: "integer", minimum: 0, maximum: mostCopies, description: "The number of copies." },
    item: { description: "The item to copy: any value valid in the list." },
  },
  examples: [{ repeat: 300, item: { name: "p{n:3}", node: "n{n/100}" } }],
};

/** Maximum length of all copies in a case together, in characters. */
const mostText = 16 * 2 ** 20;

/** The case as if each repeat in it had been written out. */
export function expand(value: unknown): unknown {
  let left = mostText;

  const copies = (repeat: number, item: unknown, at: string): readonly unknown[] => {
    // In JSON, {n} with its braces occurs only inside strings: elsewhere a quotation mark or a brace follows.
    const text = JSON.stringify(item);
    left -= repeat * text.length;
    if (left < 0) throw new MalformedCase([`${at} expands to more than ${mostText} characters`]);
    return Array.from({ length: repeat }, (_, n) => JSON.parse(withCount(text, n)));
  };

  const walk = (one: unknown, at: string): unknown => {
    if (Array.isArray(one)) {
      return one.flatMap((item: unknown, index) => {
        const place = `${at}[${index}]`;
        if (!isRepeat(item)) return [walk(item, place)];
        const { repeat, item: copied } = item;
        if (Number.isInteger(repeat) && Number(repeat) >= 0 && Number(repeat) <= mostCopies) {
          return copies(Number(repeat), walk(copied, `${place}.item`), place);
        }
        throw new MalformedCase([
          `${place}.repeat takes a whole number from 0 to ${mostCopies}, not ${quoted(repeat)}`,
        ]);
      });
    }
    if (!isRecord(one)) return one;
    return Object.fromEntries(Object.entries(one).map(([name, inner]) => [name, walk(inner, memberOf(at, name))]));
  };

  return walk(value, "case");
}

interface Repeat {
  readonly repeat: unknown;
  readonly item: unknown;
}

const isRepeat = (value: unknown): value is Repeat =>
  isRecord(value) && Object.keys(value).length === 2 && "repeat" in value && "item" in value;

function withCount(text: string, n: number): string {
  return text.replace(
    /\{(?:(\d{1,6})-)?n(?:([+/%])([1-9]\d{0,5}))?(?::(\d))?\}/g,
    (
      _,
      from: string | undefined,
      operator: string | undefined,
      operand: string | undefined,
      width: string | undefined,
    ) =>
      String(calculated(from === undefined ? n : Number(from) - n, operator, Number(operand))).padStart(
        Number(width ?? 0),
        "0",
      ),
  );
}

function calculated(n: number, operator: string | undefined, operand: number): number {
  switch (operator) {
    case "+":
      return n + operand;
    case "/":
      return Math.floor(n / operand);
    case "%":
      return n % operand;
    default:
      return n;
  }
}
