import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Listening } from "../../../simulator/site-api/server.ts";
import type { Handle } from "../embedded-server.ts";

/** Plain HTTP around a handler: without compression, and with bodies of any size. */
export function servePlainly(handle: Handle): Promise<Listening> {
  const server = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
    const request = { method: incoming.method ?? "GET", path: incoming.url ?? "/", headers, signal: gone.signal };
    const response = await handle({ ...request, body: Buffer.concat(chunks).toString() });
    outgoing.writeHead(response.status, response.headers);
    outgoing.flushHeaders();
    for await (const part of response.body) outgoing.write(part);
    outgoing.end();
  });
  const close = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve({ port: (server.address() as AddressInfo).port, close }));
  });
}
