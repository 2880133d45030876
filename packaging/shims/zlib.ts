import type { createGunzip as Gunzip, createGzip as Gzip } from "node:zlib";

/** See fs.ts. A board that only follows gets no answer that is packed: the module is loaded with the first one. */
export const createGunzip: typeof Gunzip = (options) => process.getBuiltinModule("node:zlib").createGunzip(options);

export const createGzip: typeof Gzip = (options) => process.getBuiltinModule("node:zlib").createGzip(options);
