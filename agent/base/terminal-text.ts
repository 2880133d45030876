/**
 * A control sequence for a terminal. Only this file makes them, so that data is never taken for one: text is cleaned as
 * a whole, and colour is added to cleaned text.
 */
class Sequence {
  readonly kind: "colour" | "cursor";
  readonly code: string;

  constructor(kind: Sequence["kind"], code: string) {
    this.kind = kind;
    this.code = `\u001b[${code}`;
  }
}

/** Text for a terminal, with control sequences between its pieces. */
export type Text = string | Sequence | readonly Text[];

const tones = { good: "32", warn: "33", bad: "31", dim: "2", boldGood: "1;32", boldWarn: "1;33", boldBad: "1;31" };
export type Tone = keyof typeof tones;

const plain = new Sequence("colour", "0m");

export const toned = (tone: Tone, text: string): Text => [new Sequence("colour", `${tones[tone]}m`), text, plain];

export const cursor = {
  /** To the upper left corner of an empty screen. */
  clearScreen: [new Sequence("cursor", "H"), new Sequence("cursor", "2J")],
  /** To the beginning of the line `lines` above. */
  up: (lines: number): Text => [
    ...(lines > 0 ? [new Sequence("cursor", `${lines}A`)] : []),
    new Sequence("cursor", "1G"),
  ],
  clearLine: new Sequence("cursor", "2K"),
  clearBelow: new Sequence("cursor", "0J"),
} as const;

/** The characters for a terminal, or without colour for other readers. */
export function terminalText(text: Text, isColoured: boolean): string {
  if (typeof text === "string") return cleaned(text);
  if (text instanceof Sequence) return text.kind === "cursor" || isColoured ? text.code : "";
  return text.map((piece) => terminalText(piece, isColoured)).join("");
}

/**
 * Replaces everything that steers a terminal or reorders text: control characters except line breaks, line and
 * paragraph separators, bidirectional embeddings, overrides and isolates, unpaired surrogates. One question mark for
 * each, so that columns keep their width.
 */
export const cleaned = (text: string): string => text.replace(steering, "?");

const steering = /(?!\n)\p{Cc}|\p{Cs}|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Turns line breaks and tabs into spaces: data must not begin a line of its own. */
export const oneLine = (text: string): string => text.replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, " ");

/** The same for a text of several pieces. */
export const lineOf = (text: Text): Text =>
  typeof text === "string" ? oneLine(text) : text instanceof Sequence ? text : text.map(lineOf);

/** JSON in which characters that steer a terminal are escaped; equivalent for a program. */
export const jsonText = (value: unknown, indent?: number): string =>
  (JSON.stringify(value, undefined, indent) ?? "null").replace(
    steering,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
