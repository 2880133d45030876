import library from "mqtt/lib/client";

/**
 * The client of MQTT.js without its transports, which would load WebSockets and proxies. The module is CommonJS, so
 * Node imports its exports object, whereas other loaders import the class itself.
 */
export const MqttClient = "default" in library ? library.default : library;
export type MqttClient = InstanceType<typeof MqttClient>;
