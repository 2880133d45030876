import { describe, expect, test } from "vitest";
import { everyoneOn, gatewayOn, lanPaths } from "../../../agent/board/lan-paths.ts";
import { isDirect } from "../../../agent/witness/lan.ts";

const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
/** eth0 is 192.168.7.0/24 with the router 192.168.7.254. */
const lan = "eth0\t0007A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n";
const byLan = "eth0\t00000000\tFE07A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n";
/** wwan0 is a modem with a router of its own. */
const modem = "wwan0\t0000400A\t00000000\t0001\t0\t0\t50\t00FFFFFF\t0\t0\t0\n";
const byModem = "wwan0\t00000000\t0100400A\t0003\t0\t0\t50\t00000000\t0\t0\t0\n";
/** wlan0 is on the same network as eth0, and the kernel prefers eth0. */
const wifi = "wlan0\t0007A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0\n";
/** wg0 reaches 192.168.7.9 alone. */
const tunnel = "wg0\t0907A8C0\t00000000\t0001\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n";
const any = "0".repeat(32);
const six = (to: string, bits: string, router: string, flags: string, name: string): string =>
  `${to.padEnd(32, "0")} ${bits} ${any} 00 ${router.padEnd(32, "0")} 00000400 00000001 00000000 ${flags} ${name}\n`;
const routes6 =
  six("fd00", "40", "", "00000001", "eth0") +
  six("fd05", "30", "fd000000000000000000000000000009", "00000003", "eth0") +
  six("", "00", "fe800000000000000000000000000001", "00000003", "wwan0") +
  six("", "00", "", "00200200", "lo");

const reading =
  (routes: string, of6 = "") =>
  (file: string) =>
    ({ "/proc/net/route": head + routes, "/proc/net/ipv6_route": of6 })[file];

describe("the path to an address", () => {
  test.each([
    ["on the LAN", byLan + lan, "192.168.7.3", "eth0"],
    ["behind its router", byLan + lan, "10.1.2.3", "10.1.2.0/24"],
    ["of the LAN, with a modem as default route", byModem + modem + lan, "192.168.7.3", "eth0"],
    ["of the LAN on two interfaces", wifi + lan + byLan, "192.168.7.3", "eth0"],
    ["that a tunnel takes out of the LAN", byLan + lan + tunnel, "192.168.7.9", "wg0"],
    ["without a route", lan, "10.1.2.3", "10.1.2.0/24"],
    ["on the IPv6 network", lan, "fd00::3", "eth0"],
    ["behind an IPv6 router", lan, "fd05::3", "fd05:0:0:0::/64"],
    ["of the IPv6 Internet", lan, "2001:db8::3", "2001:db8:0:0::/64"],
    ["of the link itself", lan, "fe80::3%wlan0", "wlan0"],
    ["of the IPv6 Internet, in full", lan, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ] as const)("%s", (_where, routes, address, path) => {
    expect(lanPaths(reading(routes, routes6))(address)).toBe(path);
  });

  test("is direct if it is an interface", () => {
    expect(["eth0", "192.168.7.0/24", "fd00:0:0:1::/64"].map(isDirect)).toEqual([true, false, false]);
  });

  test("is a network where the routes cannot be read, or are not routes", () => {
    expect(lanPaths(() => undefined)("192.168.7.3")).toBe("192.168.7.0/24");
    const garbage = lanPaths(() => `eth0 zz 11 \n\n0\n${any} zz ${any} 00 ${any} x x x x eth0\n${any} 81`);
    expect([garbage("192.168.7.3"), garbage("fd00::3")]).toEqual(["192.168.7.0/24", "fd00:0:0:0::/64"]);
  });
});

describe("everyone on an interface", () => {
  test.each([
    ["of the LAN, in both families", byLan + lan, routes6, "eth0", ["192.168.7.255", "ff02::1%eth0"]],
    ["of a LAN without IPv6", byLan + lan, "", "eth0", ["192.168.7.255"]],
    ["of a tunnel to one machine", lan + tunnel, routes6, "wg0", []],
    ["behind a router", byLan + lan, routes6, "10.1.2.0/24", []],
  ] as const)("%s", (_where, routes, of6, path, addresses) => {
    expect(everyoneOn(reading(routes, of6), path)).toEqual(addresses);
  });

  test("are those of each network of the interface once, whatever else has routes there", () => {
    const route = (destination: string, mask: string, metric: number) =>
      `eth0\t${destination}\t00000000\t0001\t0\t0\t${metric}\t${mask}\t0\t0\t0\n`;
    const others = route("0000FEA9", "0000FFFF", 1000) + route("000000E0", "000000F0", 0);
    const again = route("0007A8C0", "00FFFFFF", 600);
    const networks = others + lan + again + route("0008A8C0", "00FFFFFF", 100) + route("0009A8C0", "00FFFFFF", 100);
    expect(everyoneOn(reading(networks), "eth0")).toEqual(["192.168.7.255", "192.168.8.255", "192.168.9.255"]);
  });

  test("has no addresses if the routes cannot be read or are malformed", () => {
    expect(everyoneOn(() => undefined, "eth0")).toEqual([]);
    expect(everyoneOn(() => `eth0 zz 11 \n\n0\n${any} zz ${any} 00 ${any} x x x x eth0`, "eth0")).toEqual([]);
  });
});

describe("the gateway", () => {
  test.each([
    ["of the LAN", byLan + lan, "eth0", "192.168.7.254"],
    ["of the LAN, while there is one behind a modem too", byModem + byLan + lan + modem, "eth0", "192.168.7.254"],
    ["of the LAN, while the only router is behind a modem", byModem + lan + modem, "eth0", undefined],
    ["of a LAN without a router", lan, "eth0", undefined],
    ["of a path with a router", byLan + lan, "10.1.2.0/24", undefined],
  ] as const)("%s", (_where, routes, path, gateway) => {
    expect(gatewayOn(reading(routes), path)).toBe(gateway);
  });

  test("is none where the routes cannot be read", () => {
    expect(gatewayOn(() => undefined, "eth0")).toBe(undefined);
  });
});
