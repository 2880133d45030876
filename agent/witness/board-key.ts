import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto";
import { sentenceOf } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";

/** Where the private key is kept. */
export interface KeyFile {
  /** The file's text; undefined if there is none. */
  read(): string | undefined;
  write(pem: string): void;
}

/** The board's own Ed25519 key pair. The private half never leaves this object and its file. */
export class BoardKey {
  readonly #key: KeyObject;
  /** The public half, raw, in base64url. */
  readonly publicText: string;

  private constructor(key: KeyObject) {
    this.#key = key;
    this.publicText = rawOf(createPublicKey(key)).toString("base64url");
  }

  /**
   * The stored key. If there is no readable one, a new one is created and stored, and the board's Node then gets the
   * new public half. A key that cannot be stored is used until the agent ends.
   */
  static kept(file: KeyFile, log: Logger): BoardKey {
    const found = keyIn(file, log);
    if (found) return new BoardKey(found);
    const { privateKey } = generateKeyPairSync("ed25519");
    try {
      file.write(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
    } catch (error) {
      log.warn("the board's key for answers on the LAN cannot be stored; a new one will be created at the next start", {
        error,
      });
    }
    return new BoardKey(privateKey);
  }

  sign(bytes: Uint8Array): Uint8Array {
    return sign(null, bytes, this.#key);
  }
}

function keyIn(file: KeyFile, log: Logger): KeyObject | undefined {
  try {
    const pem = file.read();
    if (pem === undefined) return undefined;
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === "ed25519") return key;
    log.warn("the board's key for answers on the LAN is recreated, because the stored one is not an Ed25519 key");
  } catch (error) {
    // Logs only the message, because errors of key parsers may quote their input.
    log.warn("the board's key for answers on the LAN is recreated, because the stored one cannot be read", {
      why: sentenceOf(error),
    });
  }
  return undefined;
}

/** The DER form of an Ed25519 public key before its 32 raw bytes (RFC 8410). */
const prefix = Buffer.from("302a300506032b6570032100", "hex");
const rawLength = 32;

const rawOf = (key: KeyObject): Buffer => key.export({ type: "spki", format: "der" }).subarray(prefix.length);

/** Whether the text is a public key in the form of `BoardKey.publicText`. */
export function isPublicText(text: string): boolean {
  const raw = Buffer.from(text, "base64url");
  return raw.length === rawLength && raw.toString("base64url") === text;
}

/** Whether the holder of the private half signed these bytes. */
export function isSigned(bytes: Uint8Array, signature: Uint8Array, publicText: string): boolean {
  const der = Buffer.concat([prefix, Buffer.from(publicText, "base64url")]);
  return verify(null, bytes, createPublicKey({ key: der, type: "spki", format: "der" }), signature);
}
