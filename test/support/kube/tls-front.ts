import { connect, type Socket } from "node:net";
import { createServer, type Server } from "node:tls";
import type { Pair } from "../../agent/client/certificates.ts";

/** Speaks TLS in front of a plain port, with a certificate that can be replaced. */
export class TlsFront {
  readonly #sockets = new Set<Socket>();
  readonly #first: Pair;
  #server: Server | undefined;

  constructor(first: Pair) {
    this.#first = first;
  }

  async listen(target: number): Promise<number> {
    const server = createServer({ ...this.#first }, (near) => {
      const far = connect({ host: "127.0.0.1", port: target });
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => this.#sockets.delete(socket));
      }
      near.pipe(far).pipe(near);
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the front has no port");
    return address.port;
  }

  /** For connections from now on. */
  present(pair: Pair): void {
    this.#server?.setSecureContext(pair);
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
