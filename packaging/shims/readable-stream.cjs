/** The package is a copy of Node's own streams, which are loaded anyway. See events.cjs. */
module.exports = process.getBuiltinModule("node:stream");
