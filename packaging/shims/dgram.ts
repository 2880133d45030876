/** See fs.ts. */
export const { createSocket } = process.getBuiltinModule("node:dgram");
