import library from "mqtt/lib/client";

/**
 * MQTT.js's client without its transports, which would load WebSockets and proxies. The module is CommonJS: Node
 * provides its exports, ESM-aware loaders the class itself.
 */
export const MqttClient = "default" in library ? library.default : library;
export type MqttClient = InstanceType<typeof MqttClient>;
