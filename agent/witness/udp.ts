import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import type { Lan, LanAddress, LanPort, Receive } from "./lan.ts";

type Family = "udp4" | "udp6";

/**
 * The LAN by UDP. A sandbox or firewall may refuse an address family or an address; the send then fails, and nothing is
 * concluded from it.
 */
export const udp: Lan = {
  async open(port, receive) {
    const opened = await Promise.allSettled([bound("udp4", port), bound("udp6", port)]);
    const sockets = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const refused = opened.find((one) => one.status === "rejected" && !isMissingFamily(one.reason));
    if (sockets.length === 0 || refused !== undefined) {
      for (const socket of sockets) socket.close();
      const [first] = opened.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
      throw refused?.status === "rejected" ? refused.reason : first;
    }
    return new UdpPort(sockets, receive);
  },
};

function bound(family: Family, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createSocket({ type: family, ipv6Only: family === "udp6" });
    const fail = (error: Error): void => {
      socket.close();
      reject(error);
    };
    socket.once("error", fail);
    socket.bind(port, () => {
      socket.off("error", fail);
      if (family === "udp4") socket.setBroadcast(true);
      resolve(socket);
    });
  });
}

/** This machine lacks the address family. */
const isMissingFamily = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "EAFNOSUPPORT" || error.code === "EADDRNOTAVAIL");

class UdpPort implements LanPort {
  readonly closed: Promise<Error | undefined>;
  readonly #sockets = new Map<boolean, Socket>();
  #isOpen = true;
  #end: (error: Error | undefined) => void = () => {};

  constructor(sockets: readonly Socket[], receive: Receive) {
    this.closed = new Promise((resolve) => {
      this.#end = resolve;
    });
    for (const socket of sockets) {
      this.#sockets.set(socket.address().family === "IPv6", socket);
      socket.on("error", (error) => this.#over(error));
      socket.on("message", (datagram: Buffer, from: RemoteInfo) => {
        if (!this.#isOpen) return;
        const reply = (answer: Uint8Array): void => {
          // The sender may be gone, or a firewall may refuse its address; in either case, it gets no answer.
          if (this.#isOpen) socket.send(answer, from.port, from.address, () => {});
        };
        receive(datagram, reply, from.address);
      });
    }
  }

  send(datagram: Uint8Array, { address, port }: LanAddress, failed: (error: Error) => void): void {
    const socket = this.#sockets.get(isIPv6(address));
    if (socket === undefined || !this.#isOpen) {
      failed(new Error(this.#isOpen ? `this board has no ${isIPv6(address) ? "IPv6" : "IPv4"}` : "the port is closed"));
      return;
    }
    socket.send(datagram, port, address, (error) => error && failed(error));
  }

  close(): void {
    this.#over(undefined);
  }

  #over(error: Error | undefined): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const socket of this.#sockets.values()) socket.close();
    this.#end(error);
  }
}
