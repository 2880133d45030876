/** See fs.ts. */
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule("node:http");
