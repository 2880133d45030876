/** The package is a copy of Node's own streams, which are there anyway. See events.cjs. */
module.exports = process.getBuiltinModule("node:stream");
