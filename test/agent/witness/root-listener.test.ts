import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { readFact } from "../../../agent/board/read-fact.ts";
import { ofRoot } from "../../../agent/witness/root-listener.ts";

const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (local: string, user: number, state = "0A"): string =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${String(user).padStart(5)}        0 12345 1 0 100 0 0 10 0\n`;
const loopback = "0100007F:2808";
const wildcard6 = "00000000000000000000000000000000:2808";
const mapped = "0000000000000000FFFF00000100007F:2808";

/** The answer that counts, of a listener that answers "ok", and how often it was asked. */
async function answerWith(tables: Readonly<Record<string, string>>): Promise<readonly [string, number]> {
  let asked = 0;
  const ask = async (): Promise<"ok"> => {
    asked++;
    return "ok";
  };
  return [await ofRoot(ask, (file) => tables[file])(), asked];
}

test.each([
  ["root's, on loopback", { "/proc/net/tcp": head + row(loopback, 0) }],
  ["root's, on all addresses", { "/proc/net/tcp6": head + row(wildcard6, 0) }],
  ["of an owner that cannot be read", {}],
  [
    "root's, while others use other ports and addresses",
    {
      "/proc/net/tcp": head + row("0100007F:1F90", 1000) + row("0A00000A:2808", 1000) + row(loopback, 0),
    },
  ],
  [
    "root's, beside another user's for IPv6",
    { "/proc/net/tcp": head + row(loopback, 0), "/proc/net/tcp6": head + row(wildcard6, 1000) },
  ],
  [
    "root's, with another user's connection to it",
    {
      "/proc/net/tcp": head + row(loopback, 0) + row(loopback, 1000, "01"),
    },
  ],
])("a listener on the kubelet's port counts if it is %s", async (_, tables) => {
  expect(await answerWith(tables)).toEqual(["ok", 1]);
});

test.each([
  ["loopback", { "/proc/net/tcp": head + row(loopback, 1000) }],
  ["all addresses", { "/proc/net/tcp": head + row("00000000:2808", 65534) }],
  ["all IPv6 addresses", { "/proc/net/tcp6": head + row(wildcard6, 1000) }],
  ["loopback in the form of IPv6", { "/proc/net/tcp6": head + row(mapped, 1000) }],
  [
    "loopback, beside root's on all addresses",
    {
      "/proc/net/tcp": head + row("00000000:2808", 0) + row(loopback, 1000),
    },
  ],
])("a pod of another user that listens on %s is not taken for the kubelet, and not asked", async (_, tables) => {
  expect(await answerWith(tables)).toEqual(["silent", 0]);
});

test("a listener that takes the port while the kubelet is asked does not count", async () => {
  let user = 0;
  const ask = async (): Promise<"ok"> => {
    user = 1000;
    return "ok";
  };
  expect(await ofRoot(ask, () => head + row(loopback, user))()).toBe("silent");
});

test("the kernel's table names the owner of a real listener", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const isRoot = process.getuid?.() === 0;
    expect(await ofRoot(async () => "ok", readFact, port)()).toBe(isRoot ? "ok" : "silent");
  } finally {
    server.close();
  }
});
