import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";

/** Grammar of key ids, which serve as file names and user properties. */
export const kidPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The bytes that are signed. They include the topic, so a signature is invalid on the topic of another board. */
function signedBytes(topic: string, payload: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`sw1-cmd\0${topic}\0`, "utf8"), payload]);
}

/** Signs a message. Returns the signature in base64url, for the user property `sig`. */
export const signatureOf = (topic: string, payload: Uint8Array, privateKeyPem: string): string =>
  sign(null, signedBytes(topic, payload), readPrivateKey(privateKeyPem)).toString("base64url");

export function isSignatureOf(sig: string, topic: string, payload: Uint8Array, key: KeyObject): boolean {
  // Exactly 64 bytes in canonical base64url, because a second encoding would count as another valid signature.
  const bytes = Buffer.from(sig, "base64url");
  if (bytes.length !== 64 || bytes.toString("base64url") !== sig) return false;
  return verify(null, signedBytes(topic, payload), key, bytes);
}

/** Identifies a key by its content, because the name of its file may change. */
export const fingerprintOf = (key: KeyObject): string =>
  createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("base64url");

/** Throws unless the text is an Ed25519 public key in PEM. */
export function readPublicKey(pem: string): KeyObject {
  // Node would derive the public half of a private key, but private keys do not belong on a board.
  if (!pem.includes("-----BEGIN PUBLIC KEY-----")) throw new Error("the file contains no public key in PEM");
  return ed25519(createPublicKey(pem));
}

const readPrivateKey = (pem: string): KeyObject => ed25519(createPrivateKey(pem));

function ed25519(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== "ed25519") throw new Error(`the key type is ${key.asymmetricKeyType}, not Ed25519`);
  return key;
}

export function newKeyPair(): { readonly privateKey: string; readonly publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519", {
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  return { privateKey, publicKey };
}
