/** See fs.ts. */
export const {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  randomUUID,
  sign,
  timingSafeEqual,
  verify,
  X509Certificate,
} = process.getBuiltinModule("node:crypto");
