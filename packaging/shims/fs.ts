/**
 * Replaces `node:fs` in the bundle; the other files here replace the modules with the same names.
 *
 * An `import` of one of Node's modules evaluates all its exports, even those that are built on first use: promises with
 * half of readline, Web Crypto, fetch, all root certificates in PEM. That is 4 MB that no part of the agent uses.
 * Sources import `node:fs` as usual; the build reports exports that are missing here.
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
  read,
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
