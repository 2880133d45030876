import { identityName } from "./identity-name.ts";
import { bytes, duration, flag, integer, optional, path, section, text, url } from "./schema.ts";

const credential = (name: string, what: string) =>
  optional(
    path(`/etc/siteward/credentials/${name}`, what),
    `${name} in the folder of the service's credentials, or in /etc/siteward/credentials`,
  );

/** Settings of the link to the fleet. Without `url`, the code of the link is not loaded. */
export const mqttSettings = section("The fleet's MQTT broker, which must speak MQTT 5.", {
  url: optional(
    url("The broker's address.", {
      pattern: /^mqtts?:\/\/([^\s/@:[\]]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?\/?$/,
      accepts: "mqtts://host:8883, or mqtt://host:1883 without TLS; no user or password",
    }),
    "this board belongs to no fleet",
  ),
  fleet: optional(text("", "The fleet's name, the first part of the certificate's name.", identityName), "none"),
  certificate: credential("mqtt.crt", "The client certificate; its name is fleet/site/board."),
  key: credential("mqtt.key", "The key of the client certificate."),
  ca: credential("mqtt-ca.crt", "The certificate authorities that may sign the broker's certificate."),
  keepalive: duration("60s", "A silent connection is checked with a ping after this time; 30s suits mobile networks.", {
    min: "5s",
    max: "10m",
  }),
  sessionExpiry: duration("1d", "How long the broker keeps commands for this board while the board is not connected.", {
    min: "0s",
    max: "7d",
  }),
  receiveMaximum: integer(8, "Maximum number of commands that the broker may send without an acknowledgement.", {
    min: 1,
    max: 64,
  }),
  maxPacket: bytes(
    "64KiB",
    "The largest packet that the broker may send to this board; the broker itself must discard larger ones.",
    {
      min: "4KiB",
      max: "256KiB",
    },
  ),
  topicAliases: flag(
    false,
    "Whether a repeated topic is sent as a number if the broker supports it; saves traffic on metered links.",
  ),
  heartbeat: duration("5m", "The status is sent at least this often.", { min: "10s", max: "1h" }),
  minInterval: duration("10s", "The status is sent at most this often.", { min: "1s", max: "10m" }),
  reconnect: section("Reconnect delay: random, up to a limit that doubles with each attempt.", {
    first: duration("1s", "The limit for the first attempt.", { min: "100ms", max: "1m" }),
    most: duration("5m", "The longest delay before an attempt.", { min: "1s", max: "1h" }),
    refused: duration("60s", "The limit for the first attempt after the broker has refused this board.", {
      min: "1s",
      max: "1h",
    }),
  }),
  outbox: section("Messages that are kept on disk until the broker has received them.", {
    eventRows: integer(2000, "Maximum number of events.", { min: 10, max: 100_000 }),
    eventBytes: bytes("4MiB", "Maximum size of all events together.", { min: "64KiB", max: "1GiB" }),
    responseRows: integer(200, "Maximum number of answers to commands.", { min: 10, max: 10_000 }),
    responseBytes: bytes("1MiB", "Maximum size of all answers together.", { min: "64KiB", max: "1GiB" }),
  }),
});

const lockedKeys = {
  pattern: /^([A-Za-z]+(\.[A-Za-z]+)*(\.\*)?|\*)( *, *([A-Za-z]+(\.[A-Za-z]+)*(\.\*)?|\*))*$/,
  accepts: 'settings with commas between them, such as "nodeLifecycle.*, leader.duration"',
};

/** Which settings the fleet may change on this board. */
export const remoteSettings = section("Settings that the fleet sends to this board.", {
  enabled: flag(true, "Whether this board accepts settings from the fleet."),
  locked: optional(text("", "Settings that the fleet must not change on this board.", lockedKeys), "none"),
  canary: duration("2m", "Trial period of new settings.", { min: "5s", max: "1h" }),
});
