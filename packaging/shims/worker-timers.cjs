/** Replaces timers for browsers, because the MQTT client is configured to use Node's. */
module.exports = {};
