import { expect, test } from "vitest";
import { localNetworks } from "../../../../agent/board/local-networks.ts";
import { hardenedDropIn } from "../../../../agent/cli/commands/hardened-drop-in.ts";

test("the drop-in disables V8's compilers, and permits traffic only with the given addresses and the board itself", () => {
  const text = hardenedDropIn([
    { address: "192.0.2.7", owner: "API server: 192.0.2.7" },
    { address: "192.0.2.7", owner: "API server: 192.0.2.7" },
    { address: "fd00::/64", owner: "the board's own network" },
  ]);
  for (const line of [
    "MemoryDenyWriteExecute=yes",
    "Environment=SITEWARD_HARDENED_FLAGS=--jitless",
    "IPAddressDeny=any",
  ])
    expect(text.split("\n")).toContain(line);
  const allowed = [...text.matchAll(/^# (.*)\nIPAddressAllow=(.*)$/gm)].map(
    ([, owner, address]) => `${address} ${owner}`,
  );
  expect(allowed).toEqual([
    "127.0.0.0/8 this board itself",
    "::1/128 this board itself",
    "192.0.2.7 API server: 192.0.2.7",
    "fd00::/64 the board's own network",
  ]);
});

test("the board's own networks are those reached without a router", () => {
  const files: Readonly<Record<string, string>> = {
    "/proc/net/route": [
      "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT",
      "eth0\t00000000\t0107A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0",
      "eth0\t0007A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0",
      "eth1\t0000000A\t00000000\t0001\t0\t0\t0\t0000F0FF\t0\t0\t0",
      "eth0\t0063A8C0\t0107A8C0\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0",
      "",
    ].join("\n"),
    "/proc/net/if_inet6": [
      "fd000000000012340000000000000002 04 40 00 82     eth0",
      "fe8000000000000000fc00fffe000001 04 40 20 80     eth0",
      "00000000000000000000000000000001 01 80 10 80       lo",
      "",
    ].join("\n"),
  };
  expect(localNetworks((file) => files[file])).toEqual([
    "192.168.7.0/24",
    "10.0.0.0/12",
    "fd00:0:0:1234::/64",
    "fe80::/64",
  ]);
});

test("a machine without networks has none, and a kernel without IPv6 has no IPv6 network", () => {
  expect(localNetworks(() => undefined)).toEqual([]);
  expect(localNetworks(() => "Iface\tDestination\ngarbage\n\n")).toEqual([]);
});
