import { expect, test } from "vitest";
import { RequestReader } from "../../../../agent/commands/operator-api/http-request.ts";

const read = (text: string) => new RequestReader().push(Buffer.from(text, "latin1"));

test("a request is read wherever its bytes are cut", () => {
  const text = 'POST /v1/cmd?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\nAccept:  application/json \r\n\r\n{"v":1}';
  for (const size of [1, 2, 3, 7, 50, 1000]) {
    const reader = new RequestReader();
    let found: ReturnType<RequestReader["push"]>;
    for (let at = 0; at < text.length; at += size) {
      expect(found).toBeUndefined();
      found = reader.push(Buffer.from(text.slice(at, at + size)));
    }
    expect(found).toMatchObject({ method: "POST", path: "/v1/cmd" });
    if (!found || !("body" in found)) throw new Error("not read");
    expect(Buffer.from(found.body).toString()).toBe('{"v":1}');
    expect(found.headers.get("accept")).toBe("application/json");
  }
});

test.each([
  ["text that is not HTTP", "hello\r\n\r\n", 400],
  ["another version", "GET / HTTP/2\r\n\r\n", 400],
  ["a path without a leading slash", "GET status HTTP/1.1\r\n\r\n", 400],
  ["a header without a colon", "GET / HTTP/1.1\r\nHost\r\n\r\n", 400],
  ["a folded header", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400],
  ["two lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400],
  ["a negative length", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400],
  ["a length in words", "POST / HTTP/1.1\r\nContent-Length: 0x10\r\n\r\n", 400],
  ["a chunked body", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411],
  ["more than 64 KiB", "POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n", 413],
  ["a head without an end", `GET /${"a".repeat(9000)}`, 431],
  ["a long head with an end", `GET / HTTP/1.1\r\nX: ${"a".repeat(9000)}\r\n\r\n`, 431],
  ["a hundred headers", `GET / HTTP/1.1\r\n${"X: y\r\n".repeat(100)}\r\n`, 431],
])("%s is the sender's error", (_, text, status) => {
  expect(read(text)).toMatchObject({ status });
});

test("an incomplete request waits for more bytes", () => {
  expect(read("GET /healthz HTTP/1.1\r\n")).toBeUndefined();
  expect(read("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n1234")).toBeUndefined();
});
