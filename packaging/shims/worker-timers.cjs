/** Timers of browsers. The MQTT client is told to use Node's own. */
module.exports = {};
