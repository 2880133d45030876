import library from "mqtt/lib/client";

/**
 * The library's client without its ways to connect, which bring WebSockets and proxies along. It is CommonJS: Node hands
 * over its exports, a loader that knows of ES modules the class itself.
 */
export const MqttClient = "default" in library ? library.default : library;
export type MqttClient = InstanceType<typeof MqttClient>;
