import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { LinkOptions } from "./link.ts";
import { PacketGuard } from "./packet-guard.ts";

/** Opens the socket of an MQTT client. If the broker begins a packet larger than `maxPacket`, calls `tooLarge` and closes. */
export function brokerSocket(opening: LinkOptions, tooLarge: () => void): Socket {
  const socket = socketTo(opening);
  const guard = new PacketGuard(opening.maxPacket);
  // This listener is registered first, so it runs before the packet parser's.
  socket.on("data", (bytes) => {
    if (guard.accepts(bytes)) return;
    tooLarge();
    socket.destroy();
  });
  return socket;
}

function socketTo({ url, tls }: LinkOptions): Socket {
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
