import { expect, test } from "vitest";
import { gatewayNear } from "../../../agent/board/kernel-routes.ts";

const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
/** eth0 is 192.168.7.0/24 with the router 192.168.7.254. */
const lan = "eth0\t0007A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n";
const byLan = "eth0\t00000000\tFE07A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n";
/** wwan0 is a modem with a router of its own. */
const modem = "wwan0\t0000400A\t00000000\t0001\t0\t0\t50\t00FFFFFF\t0\t0\t0\n";
const byModem = "wwan0\t00000000\t0100400A\t0003\t0\t0\t50\t00000000\t0\t0\t0\n";

test.each([
  ["on the same LAN", byLan + lan, ["192.168.7.3"], "192.168.7.254"],
  ["on the same LAN, by its second address", byLan + lan, ["fd00::3", "192.168.7.3"], "192.168.7.254"],
  ["on another LAN", byLan + lan, ["192.168.8.3"], undefined],
  ["on the LAN, while the only router is behind a modem", byModem + lan + modem, ["192.168.7.3"], undefined],
  [
    "on the LAN, with a router there and one behind a modem",
    byModem + byLan + lan + modem,
    ["192.168.7.3"],
    "192.168.7.254",
  ],
  ["on a LAN without a router", lan, ["192.168.7.3"], undefined],
  ["reached by IPv6 only", byLan + lan, ["fd00::3"], undefined],
  ["without an address", byLan + lan, [], undefined],
] as const)("the gateway of a board %s", (_where, routes, addresses, gateway) => {
  expect(gatewayNear((file) => (file === "/proc/net/route" ? head + routes : undefined), addresses)).toBe(gateway);
});

test("there is no gateway where the routes cannot be read, or are not routes", () => {
  expect(gatewayNear(() => undefined, ["192.168.7.3"])).toBe(undefined);
  expect(gatewayNear(() => "eth0 zz 11 \n\n0", ["192.168.7.3"])).toBe(undefined);
});
