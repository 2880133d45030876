import { connect, createServer } from "node:net";

/** A program for the cloud's namespace, `relay.ts ADDRESS PORT SOCKET`: passes connections on to a Unix socket, which has no namespace. */
const [address = "", port = "", socket = ""] = process.argv.slice(2);
const server = createServer({ allowHalfOpen: true }, (near) => {
  const far = connect({ path: socket, allowHalfOpen: true });
  near.on("error", () => far.destroy());
  far.on("error", () => near.destroy());
  near.pipe(far).pipe(near);
});
server.listen(Number(port), address);
