import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Opening } from "./link.ts";
import { PacketGuard } from "./packet-guard.ts";

/**
 * The socket of an MQTT client. Calls `tooLarge` and closes the socket when the peer announces a packet larger than
 * `maxPacket`.
 */
export function brokerSocket(opening: Opening, tooLarge: () => void): Socket {
  const socket = socketTo(opening);
  const guard = new PacketGuard(opening.maxPacket);
  // Registered before the packet parser's listener.
  socket.on("data", (bytes) => {
    if (guard.accepts(bytes)) return;
    tooLarge();
    socket.destroy();
  });
  return socket;
}

function socketTo({ url, tls }: Opening): Socket {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (!tls) return connectTcp({ host, port: Number(url.port || 1883) });
  const { ca, certificate: cert, key } = tls;
  const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
  return connectTls({
    host,
    port: Number(url.port || 8883),
    cert,
    key,
    ...servername,
    ...(ca !== undefined && { ca }),
  });
}
