import type { KubeletState } from "../judgement/lan-answer.ts";

/*
 * The two datagrams, in bytes. Texts have their length in one byte before them.
 *
 * Question: "swq1", nonce (16), site, board, zeros up to a length of at least 128.
 * Answer:   "swa1", nonce (16), boot id, kubelet (1: 0 ok, 1 unknown, 2 down), seconds down (4), signature (64).
 *
 * An answer is never longer than its question, so that a board cannot be used to multiply traffic.
 */
const questionMark = Buffer.from("swq1");
const answerMark = Buffer.from("swa1");
/** The shortest question: longer than the longest answer. */
export const minQuestionLength = 128;
/** The longest name of a Node. */
const maxNameLength = 253;
const maxQuestionLength = 4 + 16 + 2 * (1 + maxNameLength);
/** Maximum length of a boot id; the kernel's has 36 characters. */
const maxBootLength = 36;
export const nonceLength = 16;
const signatureLength = 64;
const maxDownMs = 0xffffffff;

/** A question to a board of a site. */
export interface Question {
  readonly nonce: Uint8Array;
  readonly site: string;
  readonly board: string;
}

/** The statement of a board about itself. */
export interface WitnessStatement {
  /** The boot of the answering machine. */
  readonly boot: string;
  readonly kubelet: KubeletState;
}

export interface WitnessAnswer extends WitnessStatement {
  readonly nonce: Uint8Array;
  readonly signature: Uint8Array;
}

export function encodeQuestion({ nonce, site, board }: Question): Uint8Array {
  const bytes = Buffer.concat([questionMark, nonce, named(site), named(board)]);
  return Buffer.concat([bytes], Math.max(bytes.length, minQuestionLength));
}

/** Reads a question; undefined if the datagram is not one, or if its answer could be longer. */
export function decodeQuestion(datagram: Uint8Array): Question | undefined {
  if (datagram.length < minQuestionLength || datagram.length > maxQuestionLength) return undefined;
  const reader = new Reader(datagram);
  if (!reader.skips(questionMark)) return undefined;
  const nonce = reader.bytes(nonceLength);
  const site = reader.text();
  const board = reader.text();
  if (nonce === undefined || site === undefined || board === undefined) return undefined;
  return reader.isPadding() ? { nonce, site, board } : undefined;
}

export const encodeAnswer = ({ nonce, signature, ...statement }: WitnessAnswer): Uint8Array =>
  Buffer.concat([answerMark, nonce, stated(statement), signature]);

/** Reads an answer; undefined if the datagram is not one. Its signature is not checked. */
export function decodeAnswer(datagram: Uint8Array): WitnessAnswer | undefined {
  if (datagram.length > minQuestionLength) return undefined;
  const reader = new Reader(datagram);
  if (!reader.skips(answerMark)) return undefined;
  const nonce = reader.bytes(nonceLength);
  const boot = reader.text();
  const kubelet = kubeletIn(reader.bytes(5));
  const signature = reader.bytes(signatureLength);
  if (nonce === undefined || boot === undefined || kubelet === undefined || signature === undefined) return undefined;
  return reader.isAtEnd ? { nonce, boot, kubelet, signature } : undefined;
}

/**
 * The bytes that a board signs. They include the question, so that an answer does not fit any other question, board or
 * site.
 */
export const signedBytes = ({ nonce, site, board }: Question, statement: WitnessStatement): Uint8Array =>
  Buffer.concat([Buffer.from("siteward witness 1\0"), nonce, named(site), named(board), stated(statement)]);

function stated({ boot, kubelet }: WitnessStatement): Uint8Array {
  const state = Buffer.alloc(5);
  state[0] = codes[kubelet.is];
  if (kubelet.is === "down") state.writeUInt32BE(Math.min(maxDownMs, Math.floor(kubelet.forMs / 1000)), 1);
  return Buffer.concat([named(boot.slice(0, maxBootLength)), state]);
}

const codes: Readonly<Record<KubeletState["is"], number>> = { ok: 0, unknown: 1, down: 2 };

function kubeletIn(state: Uint8Array | undefined): KubeletState | undefined {
  if (state === undefined) return undefined;
  const seconds = Buffer.from(state).readUInt32BE(1);
  if (state[0] === codes.down) return { is: "down", forMs: seconds * 1000 };
  if (seconds !== 0) return undefined;
  if (state[0] === codes.ok) return { is: "ok" };
  return state[0] === codes.unknown ? { is: "unknown" } : undefined;
}

const named = (text: string): Uint8Array => {
  const bytes = Buffer.from(text);
  if (bytes.length > maxNameLength) throw new Error(`a name of ${bytes.length} bytes is too long for a question`);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
};

/** Reads a datagram from front to back. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  skips(mark: Buffer): boolean {
    return this.bytes(mark.length)?.equals(mark) === true;
  }

  bytes(length: number): Buffer | undefined {
    if (this.#at + length > this.#bytes.length) return undefined;
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  text(): string | undefined {
    const length = this.bytes(1)?.[0];
    return length === undefined || length > maxNameLength ? undefined : this.bytes(length)?.toString();
  }

  /** Whether only zeros follow. */
  isPadding(): boolean {
    return this.#bytes.subarray(this.#at).every((byte) => byte === 0);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }
}
