/**
 * What the bundle takes for `node:fs`; the other files here are for their namesakes (`--alias` in package.json).
 *
 * An `import` of one of Node's modules evaluates whatever that exports, also what is made on first use: promises with half
 * of readline, Web Crypto, fetch, all root certificates as text. That is 4 MB which no part of the agent asks for. Sources
 * import `node:fs` as everywhere; the build names what is missing here.
 */
export const {
  accessSync,
  appendFileSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} = process.getBuiltinModule("node:fs");
