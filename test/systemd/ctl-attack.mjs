/** Attacks a board's control socket: `node ctl-attack.mjs WAY FILE COUNT`. Prints the outcomes as JSON. */
import { connect } from "node:net";

const [, , way, file, count = "1"] = process.argv;
const ways = {
  /** Connects and sends nothing. */
  silent: () => undefined,
  half: (socket) => socket.write("GET /status HTTP/1.1\r\nHost: x"),
  slow: (socket) => setInterval(() => socket.write("x"), 200).unref(),
  huge: (socket) => {
    socket.write("POST /v1/cmd HTTP/1.1\r\nContent-Length: 65536\r\n\r\n");
    for (let part = 0; part < 64; part++) socket.write(Buffer.alloc(65_536, 32));
  },
  endless: (socket) => socket.write(`GET /${"a".repeat(1_000_000)}`),
  whole: (socket) => socket.write("GET /healthz HTTP/1.1\r\n\r\n"),
};
const outcomes = {};
const note = (what) => {
  outcomes[what] = (outcomes[what] ?? 0) + 1;
};
const talks = Array.from({ length: Number(count) }, () => {
  const { promise, resolve } = Promise.withResolvers();
  const socket = connect({ path: file, allowHalfOpen: true });
  let text = "";
  socket.once("connect", () => ways[way](socket));
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  socket.once("error", ({ code }) => {
    if (text === "") note(code);
  });
  socket.once("close", () => {
    if (text !== "") note(text.slice(9, 12));
    resolve();
  });
  return promise;
});
await Promise.race([Promise.all(talks), new Promise((resolve) => setTimeout(resolve, 15_000))]);
process.stdout.write(JSON.stringify(outcomes));
process.exit(0);
