import { expect, test } from "vitest";
import { familyOf, parseAddress } from "../../../../agent/controllers/service/ip.ts";

test.each([
  ["10.0.0.1", "IPv4", "10.0.0.1"],
  ["010.000.0.01", "IPv4", "10.0.0.1"],
  ["255.255.255.255", "IPv4", "255.255.255.255"],
  ["::", "IPv6", "::"],
  ["::1", "IPv6", "::1"],
  ["fe80::", "IPv6", "fe80::"],
  ["2001:DB8:0:0:1:0:0:1", "IPv6", "2001:db8::1:0:0:1"],
  ["1:0:0:4:0:0:0:8", "IPv6", "1:0:0:4::8"],
  ["1:2:3:4:5:6:7:8", "IPv6", "1:2:3:4:5:6:7:8"],
  ["1:2:3:4:5:6:7::", "IPv6", "1:2:3:4:5:6:7:0"],
  ["1:2:3:4:5:6:1.2.3.4", "IPv6", "1:2:3:4:5:6:102:304"],
  ["::ffff:1.2.3.4", "IPv4", "1.2.3.4"],
  ["::ffff:102:304", "IPv4", "1.2.3.4"],
])("%s is an address of %s and is formatted as %s", (text, family, written) => {
  expect(parseAddress(text)).toEqual({ family, text: written });
});

test.each([
  "",
  "x",
  "10.0.0",
  "10.0.0.256",
  "10.0.0.1.1",
  "10.0.0.-1",
  "10.0.0.1 ",
  ":",
  ":::",
  "1::2::3",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "1:2:3:4:5:6:7:8::",
  "fe80::1%eth0",
  "12345::",
  "::1.2.3",
  "1.2.3.4::",
])("%j is not an address", (text) => {
  expect(parseAddress(text)).toBeUndefined();
});

test("an invalid address counts as IPv4", () => {
  expect([undefined, "", "x", "10.0.0.1", "fd00::1"].map(familyOf)).toEqual(["IPv4", "IPv4", "IPv4", "IPv4", "IPv6"]);
});
