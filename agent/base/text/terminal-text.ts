/**
 * A terminal control sequence. Only this file creates them, and they are kept apart from strings until the end, so that
 * control characters within data are always removed.
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
export type TerminalText = string | Sequence | readonly TerminalText[];

const tones = { good: "32", warn: "33", bad: "31", dim: "2", boldGood: "1;32", boldWarn: "1;33", boldBad: "1;31" };
export type Tone = keyof typeof tones;

const plain = new Sequence("colour", "0m");

export const withTone = (tone: Tone, text: string): TerminalText => [
  new Sequence("colour", `${tones[tone]}m`),
  text,
  plain,
];

export const cursor = {
  /** Clears the screen and moves the cursor to its upper left corner. */
  clearScreen: [new Sequence("cursor", "H"), new Sequence("cursor", "2J")],
  /** Moves the cursor to the beginning of the line that is `lines` above. */
  up: (lines: number): TerminalText => [
    ...(lines > 0 ? [new Sequence("cursor", `${lines}A`)] : []),
    new Sequence("cursor", "1G"),
  ],
  clearLine: new Sequence("cursor", "2K"),
  clearBelow: new Sequence("cursor", "0J"),
} as const;

/** The characters to write. If `isColoured` is false, omits colours; cursor movements are always included. */
export function terminalText(text: TerminalText, isColoured: boolean): string {
  if (typeof text === "string") return cleanText(text);
  if (text instanceof Sequence) return text.kind === "cursor" || isColoured ? text.code : "";
  return text.map((piece) => terminalText(piece, isColoured)).join("");
}

/**
 * Replaces each character that could control a terminal or reorder text with a question mark: control characters except
 * line breaks, line and paragraph separators, bidirectional marks, embeddings, overrides and isolates, unpaired
 * surrogates.
 */
export const cleanText = (text: string): string => text.replace(unsafe, "?");

const unsafe = /(?!\n)\p{Cc}|\p{Cs}|[\u2028\u2029]|\p{Bidi_Control}/gu;

/** Turns line breaks and tabs into spaces, so that data cannot forge an extra line. */
export const oneLine = (text: string): string => text.replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, " ");

/** Like `oneLine`, for text in several pieces. */
export const lineOf = (text: TerminalText): TerminalText =>
  typeof text === "string" ? oneLine(text) : text instanceof Sequence ? text : text.map(lineOf);

/** JSON with the characters that `cleanText` replaces escaped as \uXXXX; programs parse the same value. */
export const jsonText = (value: unknown, indent?: number): string =>
  (JSON.stringify(value, undefined, indent) ?? "null").replace(
    unsafe,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
