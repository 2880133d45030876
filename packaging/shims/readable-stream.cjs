/** Replaces a copy of Node's own streams, because these are loaded anyway. See events.cjs. */
module.exports = process.getBuiltinModule("node:stream");
