import { expect, test } from "vitest";
import { proxyFor } from "../../../../agent/client/transport/proxy.ts";

const through = (server: string, except: string | undefined, proxy: string | undefined = "http://proxy:3128") =>
  proxyFor(new URL(server), { proxy, except })?.host;

test("a proxy is used if one is set, with or without a scheme", () => {
  expect(through("https://10.1.2.3:6443", undefined, "")).toBeUndefined();
  expect(through("https://10.1.2.3:6443", undefined)).toBe("proxy:3128");
  expect(through("https://10.1.2.3:6443", undefined, "proxy:8080")).toBe("proxy:8080");
});

test.each(["https://127.0.0.1:6443", "https://127.8.0.1", "https://localhost:6443", "https://[::1]:6443"])(
  "%s is reached without a proxy",
  (server) => expect(through(server, undefined)).toBeUndefined(),
);

test.each([
  ["*", "https://api.example.com", true],
  ["example.com", "https://example.com", true],
  ["example.com", "https://api.example.com", true],
  ["example.com", "https://notexample.com", false],
  [".example.com", "https://api.example.com", true],
  [".example.com", "https://example.com", false],
  ["*.example.com", "https://api.example.com", true],
  ["EXAMPLE.com , other", "https://api.example.com", true],
  ["other,,", "https://api.example.com", false],
  ["10.1.2.3", "https://10.1.2.3:6443", true],
  ["10.1.2.3:6443", "https://10.1.2.3:6443", true],
  ["10.1.2.3:443", "https://10.1.2.3:6443", false],
  ["api.example.com:443", "https://api.example.com", true],
  ["10.0.0.0/8", "https://10.1.2.3:6443", true],
  ["10.2.0.0/16", "https://10.1.2.3:6443", false],
  ["10.0.0.0/99", "https://10.1.2.3:6443", false],
  ["fd00::/8", "https://[fd00::1]:6443", true],
  ["fd00::/8", "https://10.1.2.3", false],
  ["fd00::1", "https://[fd00::1]:6443", true],
  ["[fd00::1]:6443", "https://[fd00::1]:6443", true],
  ["10.0.0.0/8", "https://ten.example.com", false],
])("NO_PROXY %s exempts %s: %s", (except, server, exempt) => {
  expect(through(server, except)).toBe(exempt ? undefined : "proxy:3128");
});
