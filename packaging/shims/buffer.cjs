/** See events.cjs. */
module.exports = process.getBuiltinModule("node:buffer");
