/** A process of its own that serves an empty list of pods and a watch, and sends what it is told to: see watch-events.ts */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { podsOf } from "./pods.ts";

/** So many events, at so many a second; without a rate as fast as they are taken. */
export interface Order {
  readonly count: number;
  readonly rate?: number;
}

const [, , objects = "1", seed = "1"] = process.argv;
const mark = { version: '"resourceVersion":"1"', time: '"reason":"sent"' };

/** Each pod's text, cut where the version and the time go in. */
const texts = (await podsOf({ nodes: 50, pods: Number(objects), seed: Number(seed) })).map((pod) => {
  const text = JSON.stringify({ ...pod, status: { ...pod.status, reason: "sent" } });
  const [start = "", rest = ""] = text.split(mark.version);
  const [middle = "", end = ""] = rest.split(mark.time);
  return { start, middle, end };
});

let sent = 0;
let watcher: http.ServerResponse | undefined;

const server = http.createServer((request, response) => {
  response.setHeader("content-type", "application/json");
  if (request.url?.includes("watch=true")) {
    response.flushHeaders();
    watcher = response;
    process.send?.("watched");
  } else {
    const metadata = { resourceVersion: "1" };
    response.end(JSON.stringify({ kind: "PodList", apiVersion: "v1", metadata, items: [] }));
  }
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("message", (order: Order) => void fulfil(order));
process.on("disconnect", () => process.exit());

async function fulfil({ count, rate }: Order): Promise<void> {
  const begun = performance.now();
  for (let i = 0; i < count; i++) {
    const due = rate === undefined ? 0 : begun + (i * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    if (watcher?.write(nextEvent()) === false) await new Promise((resolve) => watcher?.once("drain", resolve));
  }
}

/** The time is that of the monotonic clock, which all processes share. */
function nextEvent(): string {
  const type = sent < texts.length ? "ADDED" : "MODIFIED";
  const { start, middle, end } = texts[sent % texts.length] ?? { start: "", middle: "", end: "" };
  const version = ++sent + 1;
  const object = `${start}"resourceVersion":"${version}"${middle}"reason":"${process.hrtime.bigint()}"${end}`;
  return `{"type":"${type}","object":${object}}\n`;
}
