import { type Duplex, duplexPair } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { SystemClock } from "../../../../agent/base/clock.ts";
import { defaultHealth, Http2Wire } from "../../../../agent/client/transport/http2-wire.ts";
import type { HttpResponse } from "../../../../agent/client/transport/transport.ts";
import { plainAccess } from "../../../support/kube/plain-access.ts";

const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

/** One frame as RFC 9113 section 4.1 has it. */
function frame(type: number, flags: number, stream: number, payload: Buffer | string = ""): Buffer {
  const content = Buffer.from(payload);
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, content]);
}

const settings = frame(4, 0, 0);
const settingsTaken = frame(4, 1, 0);
/** ":status: 200" is entry 8 of the static table (RFC 7541 appendix A). */
const headers = frame(1, 4, 1, Buffer.from([0x88]));
const headersAlone = frame(1, 5, 1, Buffer.from([0x88]));
const data = (text: string, isLast: boolean): Buffer => frame(0, isLast ? 1 : 0, 1, text);
const reset = frame(3, 0, 1, Buffer.from([0, 0, 0, 2]));

/** The request, once its HEADERS frame (type 1) has come, after the preface of 24 bytes and what else came before. */
function isAsked(received: Buffer): boolean {
  for (let at = 24; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3))
    if (received[at + 3] === 1) return true;
  return false;
}

/** What a server answers the one request with: pieces that arrive one after the other, each whole. */
async function answeredWith(...pieces: readonly Buffer[]): Promise<HttpResponse> {
  const [socket, peer] = duplexPair();
  serve(peer, pieces);
  const wire = new Http2Wire(new SystemClock(), {
    access: plainAccess("https://board.test"),
    socket,
    health: defaultHealth,
  });
  endings.push(() => wire.close());
  const { signal } = new AbortController();
  return await wire.send({ method: "GET", path: "/version", headers: {}, signal }, {}, signal);
}

function serve(peer: Duplex, pieces: readonly Buffer[]): void {
  let received = Buffer.alloc(0);
  let begun = false;
  peer.write(settings);
  peer.on("data", (more: Buffer) => {
    received = Buffer.concat([received, more]);
    if (begun || !isAsked(received)) return;
    begun = true;
    void answer(peer, pieces);
  });
}

async function answer(peer: Duplex, pieces: readonly Buffer[]): Promise<void> {
  peer.write(settingsTaken);
  for (const piece of pieces) {
    peer.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

async function textOf({ body }: HttpResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("a response that arrives in one piece is complete", async () => {
  const response = await answeredWith(Buffer.concat([headers, data("v1.36", true)]));
  expect(response.status).toBe(200);
  expect(await textOf(response)).toBe("v1.36");
});

test("an answer without a body is complete", async () => {
  expect(await textOf(await answeredWith(headersAlone))).toBe("");
});

test("an answer that is not read for a while is complete", async () => {
  const response = await answeredWith(headers, data("v1.", false), data("36", true));
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(await textOf(response)).toBe("v1.36");
});

test.each([
  ["a server that resets the stream", [Buffer.concat([headers, data("v1.", false)]), reset]],
  ["a server that resets it immediately", [Buffer.concat([headers, data("v1.", false), reset])]],
])("%s truncates the response", async (_, pieces) => {
  const response = await answeredWith(...pieces);
  await expect(textOf(response)).rejects.toMatchObject({ reason: "Reset" });
});
