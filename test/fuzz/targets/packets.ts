import protocol, { type Packet } from "mqtt-packet";
import { PacketGuard } from "../../../agent/fleet/mqtt/packet-guard.ts";
import type { Target } from "../target.ts";

const longest = 262_144;

const packets: readonly Packet[] = [
  {
    cmd: "connack",
    sessionPresent: false,
    reasonCode: 0,
    properties: { receiveMaximum: 10, maximumPacketSize: 1000, topicAliasMaximum: 5 },
  },
  {
    cmd: "publish",
    topic: "sw1/acme/plant7/pi-1/cmd/ping/ID-1",
    payload: '{"v":1}',
    qos: 1,
    messageId: 7,
    dup: false,
    retain: false,
    properties: {
      messageExpiryInterval: 60,
      responseTopic: "a/b",
      correlationData: Buffer.from("x"),
      userProperties: { sig: "s", kid: ["k", "l"] },
    },
  },
  { cmd: "puback", messageId: 7, reasonCode: 16 },
  { cmd: "suback", messageId: 8, granted: [1, 135], reasonCode: 0 },
  { cmd: "pingresp" },
  { cmd: "disconnect", reasonCode: 142, properties: { reasonString: "taken over" } },
];

/** Reads packets like the agent: the guard first, then the parser of whole packets. */
export const mqtt: Target = {
  name: "mqtt",
  form: "bytes",
  open: () => ({
    example: (random) =>
      Buffer.concat(
        Array.from({ length: 1 + random.integer(3) }, () =>
          protocol.generate(packets[random.integer(packets.length)] as Packet, { protocolVersion: 5 }),
        ),
      ),
    run: (input, random) => {
      const guard = new PacketGuard(longest);
      const parser = protocol.parser({ protocolVersion: 5 });
      let [found, failed] = [0, 0];
      parser.on("packet", () => found++);
      parser.on("error", () => failed++);
      for (let at = 0; at < input.length; ) {
        const piece = input.subarray(at, at + 1 + random.integer(60));
        at += piece.length;
        if (!guard.accepts(piece)) return false;
        parser.parse(piece);
        if (failed > 0) return false;
      }
      return found > 0;
    },
  }),
};
