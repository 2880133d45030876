/**
 * Node's client of HTTP/1.1. An import of the module evaluates whatever it exports, also what is made on first use: fetch
 * and its WebSocket, 5 MB that this program never needs.
 */
export const { Agent, request } = process.getBuiltinModule("node:http");
