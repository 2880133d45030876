/** See fs.ts. For packages that are CommonJS, because a bundle of ES modules has no `require`. */
module.exports = process.getBuiltinModule("node:events");
