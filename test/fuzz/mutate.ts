import type { SeededRandom } from "../support/seeded-random.ts";

type Form = "json" | "text" | "bytes";

/** An example with a few changes, rarely with none. Parts may come from `other`. */
export function mutated(form: Form, example: Buffer, other: Buffer, random: SeededRandom): Buffer {
  if (random.integer(20) === 0) return example;
  let bytes = example;
  for (let left = 1 + random.integer(random.integer(4) === 0 ? 8 : 3); left > 0; left--) {
    const way = form === "bytes" ? 9 : random.integer(form === "json" ? 10 : 4) + (form === "json" ? 0 : 6);
    // Very deep values exist only as text.
    if (way < 6 && !bytes.includes("[[[[[[[[")) bytes = inTree(bytes, other, random);
    else if (way < 9) bytes = inWords(bytes, other, random);
    else bytes = inBytes(bytes, other, random);
  }
  return bytes.length > mostBytes ? bytes.subarray(0, mostBytes) : bytes;
}

const mostBytes = 2 * 2 ** 20;

const one = <T>(from: readonly T[], random: SeededRandom): T => from[random.integer(from.length)] as T;

const names = [
  "",
  "__proto__",
  "constructor",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "length",
  "0",
  "a/b",
  "\u0000",
  "metadata",
  "v",
  "kind",
];
const texts = [
  "",
  " ",
  "-",
  "0",
  "-1",
  "1e999",
  "NaN",
  "Infinity",
  "true",
  "null",
  "__proto__",
  "constructor",
  "\u0000",
  "\ud800",
  "\u001b[31m",
  "../../etc/passwd",
  "a=b,c in (d,e),!f",
  "1h30m",
  "99999999999999999999d",
  "1Gi",
  "1e99",
  "-5m",
  "0 22 * * 1-5",
  "@daily",
  "* * * * * for 8h",
  "2026-11-20T12:00:00Z",
  "2026-02-31T00:00:00Z",
  "9999-99-99T99:99:99Z",
  "%00",
  "$" + "{x}",
  "💥",
  "a\nb",
  "10.0.0.1",
  "::ffff:1.2.3.4",
  "NoExecute",
];
const odd: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1,
  0.1,
  1e21,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e308,
  {},
  [],
  [[]],
  { toString: 1, valueOf: 1 },
  { length: -1 },
  [null],
  { "": "" },
  ...texts,
];
/** Values that JSON.stringify never writes. */
const rawNumbers = ["1e999", "-1e999", "1E400", "-0", "0.0000000000000000000000001", "12345678901234567890123456789"];

function inTree(bytes: Buffer, other: Buffer, random: SeededRandom): Buffer {
  const tree = parsed(bytes);
  if (tree === undefined) return inWords(bytes, other, random);
  const root = { at: tree };
  const places = placesIn(root);
  const [owner, key] = one(places, random);
  const values = owner as Record<string, unknown>;
  const value = values[key];
  switch (random.integer(12)) {
    case 0:
      if (Array.isArray(owner)) owner.splice(Number(key), 1);
      else if (owner !== root) delete values[key];
      break;
    case 1:
      values[key] = [value];
      break;
    case 2:
      values[key] = { [one(names, random)]: value };
      break;
    case 3: {
      const from = placesIn({ at: parsed(other) ?? 0 });
      const [giver, name] = one(from, random);
      values[key] = (giver as Record<string, unknown>)[name];
      break;
    }
    case 4:
      define(values, one(names, random), one(odd, random));
      break;
    case 5: {
      const [giver, name] = one(places, random);
      define(values, name, structuredClone((giver as Record<string, unknown>)[name]));
      break;
    }
    case 6:
      if (Array.isArray(value))
        values[key] = Array.from({ length: times(random) }, () => value)
          .flat()
          .slice(0, 5000);
      else if (typeof value === "string")
        values[key] = value.repeat(Math.min(times(random), 1 + 65_536 / (value.length + 1)));
      break;
    case 7: {
      let deep: unknown = value;
      for (let left = times(random); left > 0; left--) deep = left % 2 === 0 ? [deep] : { a: deep };
      values[key] = deep;
      break;
    }
    case 8:
      if (typeof value === "string")
        values[key] = inWords(Buffer.from(value), Buffer.from(one(texts, random)), random).toString();
      else if (typeof value === "number")
        values[key] = one([value + 1, -value, value * 1000, value / 3, `${value}`], random);
      break;
    default:
      values[key] = one(odd, random);
  }
  return written(root.at, random);
}

/** JSON, including values that JSON.stringify never writes, and sometimes too deep for recursion. */
function written(tree: unknown, random: SeededRandom): Buffer {
  let text = JSON.stringify(tree) ?? "null";
  if (random.integer(12) === 0) text = text.replace(/(?<=[:[,])-?\d+(?=[,\]}])/, one(rawNumbers, random));
  if (random.integer(300) === 0)
    text = text.replace(/(?<=[:[,])[\w"]+(?=[,\]}])/, `${"[".repeat(20_000)}${"]".repeat(20_000)}`);
  if (random.integer(20) === 0)
    text = text.replace("{", `{"${one(names, random)}":${JSON.stringify(one(odd, random))},`);
  return Buffer.from(text);
}

const times = (random: SeededRandom): number => one([2, 3, 10, 30, 110, random.integer(50) === 0 ? 3000 : 20], random);

function define(owner: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(owner, Array.isArray(owner) && !/^\d{1,3}$/.test(name) ? "0" : name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

type Place = readonly [owner: object, key: string];

function placesIn(root: object): readonly Place[] {
  const places: Place[] = [];
  const open: object[] = [root];
  for (let owner = open.pop(); owner !== undefined && places.length < 400; owner = open.pop()) {
    for (const [key, value] of Object.entries(owner)) {
      places.push([owner, key]);
      if (typeof value === "object" && value !== null) open.push(value);
    }
  }
  return places;
}

function inWords(bytes: Buffer, other: Buffer, random: SeededRandom): Buffer {
  const words = wordsOf(bytes);
  if (words.length === 0) return Buffer.from(one(texts, random));
  const at = random.integer(words.length);
  const to = Math.min(words.length, at + 1 + random.integer(6));
  const part = words.slice(at, to);
  const theirs = wordsOf(other);
  switch (random.integer(8)) {
    case 0:
      words.splice(at, to - at);
      break;
    case 1:
      words.splice(at, 0, ...part);
      break;
    case 2:
      words[at] = one(texts, random);
      break;
    case 3:
      words.splice(at, 0, one(texts, random));
      break;
    case 4:
      words[at] = (words[at] ?? "").repeat(times(random));
      break;
    case 5:
      words.splice(at, to - at, ...theirs.slice(random.integer(theirs.length + 1)).slice(0, 20));
      break;
    case 6: {
      const from = random.integer(words.length);
      [words[at], words[from]] = [words[from] ?? "", words[at] ?? ""];
      break;
    }
    default:
      words.splice(at, to - at, ...part.reverse());
  }
  return Buffer.from(words.join(""), "latin1");
}

/** Splits into words, spaces and signs; bytes beyond ASCII stay unchanged. */
const wordsOf = (bytes: Buffer): string[] => bytes.toString("latin1", 0, 65_536).match(/\w+|\s+|[^\w\s]/g) ?? [];

function inBytes(bytes: Buffer, other: Buffer, random: SeededRandom): Buffer {
  const at = random.integer(bytes.length + 1);
  const to = Math.min(bytes.length, at + 1 + random.integer(one([2, 8, 64], random)));
  const [before, part, after] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)];
  switch (random.integer(7)) {
    case 0: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << random.integer(8));
      return copy;
    }
    case 1:
      return Buffer.concat([
        before,
        Buffer.of(one([0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x22, 0x7b, random.integer(256)], random)),
        after,
      ]);
    case 2:
      return Buffer.concat([before, after]);
    case 3:
      return Buffer.concat([before, ...Array.from({ length: times(random) }, () => part), after]);
    case 4:
      return bytes.subarray(0, at);
    case 5: {
      const from = random.integer(other.length + 1);
      return Buffer.concat([before, other.subarray(from, from + random.integer(200)), after]);
    }
    default:
      return Buffer.concat([
        before,
        Buffer.from(Array.from({ length: 1 + random.integer(8) }, () => random.integer(256))),
        bytes.subarray(at),
      ]);
  }
}
