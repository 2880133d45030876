/**
 * Texts that make a backtracking regular expression slow: a prefix that leads to one of its repetitions, then a part
 * repeated any number of times, then a suffix that does not match.
 */

type Piece =
  | { readonly is: "one"; readonly source: string }
  | { readonly is: "nothing" }
  | { readonly is: "row"; readonly pieces: readonly Piece[] }
  | { readonly is: "choice"; readonly pieces: readonly Piece[] }
  | { readonly is: "repeat"; readonly piece: Piece; readonly least: number };

export interface Attack {
  readonly lead: string;
  readonly pump: string;
  readonly tail: string;
}

const candidates = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  "\u0085",
  "é",
  "ſ",
  "→",
  "∞",
];

/** The attacks on a pattern, the likely ones first. */
export function* attacksOn(pattern: RegExp): Generator<Attack, void, void> {
  const { tree, atoms } = parsed(pattern.source);
  const alphabet = representatives(atoms, pattern.flags);
  const sample = (piece: Piece): string => sampleOf(piece, alphabet, pattern.flags);
  const leads = [...new Set(["", ...leadsTo(tree, "", sample)])];
  const bodies = [...new Set([...bodiesOf(tree)].map(sample))].filter((text) => text !== "");
  const pairs = alphabet.flatMap((first) => alphabet.filter((other) => other !== first).map((other) => first + other));
  const tails = ["", "\0", ...alphabet];
  for (const pumps of [
    [...bodies, ...alphabet, ...leads.slice(1)],
    bodies.flatMap((body) => alphabet.map((one) => body + one)),
    pairs,
  ]) {
    for (const pump of pumps) for (const lead of leads) for (const tail of tails) yield { lead, pump, tail };
  }
}

export const textOf = ({ lead, pump, tail }: Attack, length: number): string =>
  `${lead}${pump.repeat(Math.ceil(length / pump.length))}${tail}`;

/** One character for each set of atoms that match it; further ones would make no difference. */
function representatives(atoms: ReadonlySet<string>, flags: string): string[] {
  const tests = [...atoms].map((source) => new RegExp(`^(?:${source})$`, flags.replace(/[gy]/g, "")));
  const found = new Map<string, string>();
  for (const one of candidates) {
    const kind = tests.map((atom) => (atom.test(one) ? 1 : 0)).join("");
    if (!found.has(kind) || /[a-z0-9]/.test(one)) found.set(kind, one);
  }
  return [...found.values()];
}

function sampleOf(piece: Piece, alphabet: readonly string[], flags: string): string {
  switch (piece.is) {
    case "one": {
      const atom = new RegExp(`^(?:${piece.source})$`, flags.replace(/[gy]/g, ""));
      return alphabet.find((one) => atom.test(one)) ?? "";
    }
    case "nothing":
      return "";
    case "row":
      return piece.pieces.map((part) => sampleOf(part, alphabet, flags)).join("");
    case "choice":
      return sampleOf(piece.pieces[0] ?? { is: "nothing" }, alphabet, flags);
    case "repeat":
      return sampleOf(piece.piece, alphabet, flags).repeat(Math.max(piece.least, 1));
    default:
      return piece satisfies never;
  }
}

/** Prefixes that reach a repetition: with each preceding part once, or left out if it is optional. */
function* leadsTo(piece: Piece, before: string, sample: (piece: Piece) => string): Generator<string, void, void> {
  switch (piece.is) {
    case "row": {
      let [full, bare] = [before, before];
      for (const part of piece.pieces) {
        yield* leadsTo(part, full, sample);
        if (bare !== full) yield* leadsTo(part, bare, sample);
        full += sample(part);
        if (part.is !== "repeat" || part.least > 0) bare += sample(part);
      }
      return;
    }
    case "choice":
      for (const part of piece.pieces) yield* leadsTo(part, before, sample);
      return;
    case "repeat":
      yield before;
      yield* leadsTo(piece.piece, before, sample);
      return;
    default:
  }
}

function* bodiesOf(piece: Piece): Generator<Piece, void, void> {
  if (piece.is === "repeat") {
    yield* piece.piece.is === "choice" ? piece.piece.pieces : [piece.piece];
    yield* bodiesOf(piece.piece);
  } else if (piece.is === "row" || piece.is === "choice") {
    for (const part of piece.pieces) yield* bodiesOf(part);
  }
}

/** The structure of a pattern, in the detail that attacks need: assertions and references match nothing here. */
function parsed(source: string): { tree: Piece; atoms: ReadonlySet<string> } {
  const atoms = new Set<string>();
  let at = 0;
  const taken = (pattern: RegExp): string | undefined => {
    const sticky = new RegExp(pattern.source, "y");
    sticky.lastIndex = at;
    const found = sticky.exec(source)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const choice = (): Piece => {
    const pieces = [row()];
    while (taken(/\|/)) pieces.push(row());
    return pieces.length === 1 && pieces[0] ? pieces[0] : { is: "choice", pieces };
  };
  const row = (): Piece => {
    const pieces: Piece[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") pieces.push(repeated(single()));
    return { is: "row", pieces };
  };
  const single = (): Piece => {
    if (taken(/[$^]|\\[bB]|\\[1-9]|\\k<\w+>/)) return { is: "nothing" };
    const group = taken(/\((?:\?(?:[:=!]|<[=!]|<\w+>))?/);
    if (group !== undefined) {
      const inner = choice();
      taken(/\)/);
      return group.includes("!") ? { is: "nothing" } : inner;
    }
    const atom =
      taken(/\[(?:\\[\s\S]|[^\]\\])*\]|\\(?:u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[pP]\{[^}]*\}|[\s\S])|[\s\S]/) ??
      "";
    atoms.add(atom);
    return { is: "one", source: atom };
  };
  const repeated = (piece: Piece): Piece => {
    const times = taken(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/);
    if (times === undefined) return piece;
    const least = times.startsWith("+") ? 1 : Number(/^\{(\d+)/.exec(times)?.[1] ?? 0);
    return { is: "repeat", piece, least };
  };
  return { tree: choice(), atoms };
}
