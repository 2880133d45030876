import { identityName } from "./identity-name.ts";
import { bytes, duration, flag, integer, optional, path, section, text, url } from "./schema.ts";

const credential = (name: string, what: string) =>
  optional(
    path(`/etc/siteward/credentials/${name}`, what),
    `${name} in the folder of the service's credentials, or in /etc/siteward/credentials`,
  );

/** The link to the fleet. Without a broker's address its code is not even loaded. */
export const mqttSettings = section("The fleet's MQTT broker, which must speak MQTT 5.", {
  url: optional(
    url("The broker's address.", {
      pattern: /^mqtts?:\/\/([^\s/@:[\]]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?\/?$/,
      accepts: "mqtts://host:8883, or mqtt://host:1883 without TLS",
    }),
    "this board belongs to no fleet",
  ),
  fleet: optional(text("", "The fleet's name, the first part of the certificate's name.", identityName), "none"),
  certificate: credential("mqtt.crt", "The client certificate; its name is fleet/site/board."),
  key: credential("mqtt.key", "The key of the client certificate."),
  ca: credential("mqtt-ca.crt", "The authorities that the broker's certificate is checked against."),
  keepalive: duration("60s", "How often a silent link is proved; 30s suits mobile networks.", {
    min: "5s",
    max: "10m",
  }),
  sessionExpiry: duration("1d", "How long the broker keeps commands for this board while it is away.", {
    min: "0s",
    max: "7d",
  }),
  receiveMaximum: integer(8, "Commands that the broker may send before one of them is acknowledged.", {
    min: 1,
    max: 64,
  }),
  maxPacket: bytes("64KiB", "The largest packet that the broker may send to this board.", {
    min: "4KiB",
    max: "256KiB",
  }),
  topicAliases: flag(
    false,
    "Whether a topic is sent as a number after its first time, for links that are paid by the byte; where the broker allows it.",
  ),
  heartbeat: duration("5m", "The status is sent at least this often.", { min: "10s", max: "1h" }),
  minInterval: duration("10s", "The status is sent at most this often.", { min: "1s", max: "10m" }),
  reconnect: section("How a lost broker is looked for again: after a random share of a time that doubles.", {
    first: duration("1s", "The first time.", { min: "100ms", max: "1m" }),
    most: duration("5m", "The longest.", { min: "1s", max: "1h" }),
    refused: duration("60s", "The first time where the broker refused this board.", { min: "1s", max: "1h" }),
  }),
  outbox: section("What waits on disk while the broker is away.", {
    eventRows: integer(2000, "Events.", { min: 10, max: 100_000 }),
    eventBytes: bytes("4MiB", "The size of all events.", { min: "64KiB", max: "1GiB" }),
    responseRows: integer(200, "Answers to commands.", { min: 10, max: 10_000 }),
    responseBytes: bytes("1MiB", "The size of all answers.", { min: "64KiB", max: "1GiB" }),
  }),
});

const lockedKeys = {
  pattern: /^([A-Za-z]+(\.[A-Za-z]+)*(\.\*)?|\*)( *, *([A-Za-z]+(\.[A-Za-z]+)*(\.\*)?|\*))*$/,
  accepts: 'settings with commas between them, such as "nodeLifecycle.*, leader.duration"',
};

/** Which settings the fleet may change on this board. */
export const remoteSettings = section("Settings that the fleet sends to this board.", {
  enabled: flag(true, "Whether settings of the fleet are taken at all."),
  locked: optional(text("", "Settings that only this board's own files decide.", lockedKeys), "none"),
  canary: duration("2m", "How long new settings are on trial before they are kept.", { min: "5s", max: "1h" }),
});
