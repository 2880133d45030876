/** See fs.ts. */
export const { format, inspect, parseArgs, promisify, stripVTControlCharacters, styleText } =
  process.getBuiltinModule("node:util");
