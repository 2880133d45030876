/** Timers for browsers. The MQTT client is configured to use Node's. */
module.exports = {};
