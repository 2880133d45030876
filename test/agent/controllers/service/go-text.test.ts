import { expect, test } from "vitest";
import { atOnce } from "../../../../agent/base/steps.ts";
import { fnv128 } from "../../../../agent/controllers/service/fnv-128.ts";
import { portText, slicePortText, subsetText } from "../../../../agent/controllers/service/go-text.ts";

/** What Kubernetes 1.36 prints and hashes for the same objects, taken from a Go program. */

const subset = {
  addresses: [
    { ip: "1.2.3.4", nodeName: "n1", targetRef: { kind: "Pod", namespace: "d", name: "a", uid: "u1" } },
    { ip: "1.2.3.5", hostname: "h" },
  ],
  ports: [
    { name: "http", port: 80, protocol: "TCP", appProtocol: "x" },
    { port: 81, protocol: "UDP" },
  ],
};

test("a subset is printed and hashed as Go does it", () => {
  expect(subsetText(subset)).toBe(
    "(v1.EndpointSubset){Addresses:([]v1.EndpointAddress)[{IP:(string)1.2.3.4 Hostname:(string) " +
      "NodeName:(*string)n1 TargetRef:(*v1.ObjectReference){Kind:(string)Pod Namespace:(string)d Name:(string)a " +
      "UID:(types.UID)u1 APIVersion:(string) ResourceVersion:(string) FieldPath:(string)}} {IP:(string)1.2.3.5 " +
      "Hostname:(string)h NodeName:(*string)<nil> TargetRef:(*v1.ObjectReference)<nil>}] " +
      "NotReadyAddresses:([]v1.EndpointAddress)<nil> Ports:([]v1.EndpointPort)[{Name:(string)http Port:(int32)80 " +
      "Protocol:(v1.Protocol)TCP AppProtocol:(*string)x} {Name:(string) Port:(int32)81 Protocol:(v1.Protocol)UDP " +
      "AppProtocol:(*string)<nil>}]}",
  );
  expect(atOnce(fnv128(subsetText(subset)))).toBe("eb8c0f378be960ae6136965b1aff9174");
  expect(atOnce(fnv128(subsetText({})))).toBe("5ae23ef3811b585a8fa9bd9f2392e5f3");
});

test("ports of subsets and of slices are printed and hashed as Go does it", () => {
  expect(subset.ports.map((port) => atOnce(fnv128(portText(port))))).toEqual([
    "352c0b5b737d02270f42b1606ea61bb0",
    "3ec086b0192fc6a5099e863aa4f5712e",
  ]);
  expect(slicePortText({ name: "http", port: 80, protocol: "TCP" })).toBe(
    "(v1.EndpointPort){Name:(*string)http Protocol:(*v1.Protocol)TCP Port:(*int32)80 AppProtocol:(*string)<nil>}",
  );
  expect(atOnce(fnv128(slicePortText({ name: "http", port: 80, protocol: "TCP" })))).toBe(
    "b6c4d325122a5ba6f795b0bbffcebb6f",
  );
});

test("the offset basis is the hash of the empty string, and letters beyond ASCII are hashed by their bytes", () => {
  expect(atOnce(fnv128(""))).toBe("6c62272e07bb014262b821756295c58d");
  expect(atOnce(fnv128("a"))).toBe("d228cb696f1a8caf78912b704e4a8964");
  expect(atOnce(fnv128("ä"))).not.toBe(atOnce(fnv128("a")));
});
