import { expect, test } from "vitest";
import { localAddresses } from "../../../agent/board/local-addresses.ts";

const header = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT";
const routes = [
  header,
  "wlan0\t00000000\t0107A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0",
  "eth0\t0000000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0",
  "wlan0\t0007A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0",
  "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0",
  "eth0\t0000080A\t0107A8C0\t0003\t0\t0\t0\t0000FFFF\t0\t0\t0",
].join("\n");
const trie = [
  "Main:",
  "  +-- 0.0.0.0/0 3 0 5",
  ...["127.0.0.1", "10.0.0.7", "192.168.7.3", "172.17.0.1", "10.96.0.1"].flatMap((address) => [
    `           |-- ${address}`,
    "              /32 host LOCAL",
  ]),
  "           |-- 192.168.7.255",
  "              /32 link BROADCAST",
].join("\n");
const inet6 = [
  "fd000000000000000000000000000003 03 40 00 80    wlan0",
  "fd000000000000000000000000000007 02 40 00 80     eth0",
  "fd0000000000000000000000000000ff 03 40 00 01    wlan0",
  "fe80000000000000dea632fffe000001 03 40 20 80    wlan0",
  "00000000000000000000000000000001 01 80 10 80       lo",
  "fd010000000000000000000000000001 04 40 00 80  docker0",
].join("\n");
const routes6 = [
  `${"0".repeat(32)} 00 ${"0".repeat(32)} 00 ${"0".repeat(32)} ffffffff 00000001 00000000 00200200       lo`,
  `${"0".repeat(32)} 00 ${"0".repeat(32)} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003    wlan0`,
].join("\n");
const files: Record<string, string> = {
  "/proc/net/route": routes,
  "/proc/net/fib_trie": trie,
  "/proc/net/if_inet6": inet6,
  "/proc/net/ipv6_route": routes6,
};

test("a board knows its LAN addresses, those of the default route first and those of containers excluded", () => {
  expect(localAddresses((file) => files[file])).toEqual([
    "192.168.7.3",
    "10.0.0.7",
    "fd00:0000:0000:0000:0000:0000:0000:0003",
    "fd00:0000:0000:0000:0000:0000:0000:0007",
  ]);
});

test.each([["/proc/net/route"], ["/proc/net/fib_trie"]])("without %s a board knows only IPv6 addresses", (missing) => {
  expect(localAddresses((file) => (file === missing ? undefined : files[file]))).toHaveLength(2);
});

test.each([
  ["nothing", undefined],
  ["something else", "x\n\n|-- \n/32 host LOCAL\n|-- 1.2.3.4.5\n/32 host LOCAL"],
  ["one long line", "|-- ".repeat(100_000)],
])("a board knows no addresses if the kernel reports %s", (_, text) => {
  expect(localAddresses(() => text)).toEqual([]);
});
