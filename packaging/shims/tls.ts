/** See fs.ts. */
export const { connect, createSecureContext, createServer, TLSSocket } = process.getBuiltinModule("node:tls");
