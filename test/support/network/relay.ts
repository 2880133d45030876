import { connect, createServer, type NetConnectOpts } from "node:net";

/**
 * A program that passes connections on, `relay.ts FROM TO`. Each end is ADDRESS:PORT or the path of a Unix socket, which
 * belongs to no network namespace.
 */
const [from, to] = process.argv.slice(2).map(endOf);
if (from === undefined || to === undefined) throw new Error("relay.ts FROM TO");

function endOf(text: string): NetConnectOpts {
  const [host = "", port] = text.split(":");
  return port === undefined ? { path: text } : { host, port: Number(port) };
}

const server = createServer({ allowHalfOpen: true }, (near) => {
  const far = connect({ ...to, allowHalfOpen: true });
  near.on("error", () => far.destroy());
  far.on("error", () => near.destroy());
  near.pipe(far).pipe(near);
});
server.listen(from);
