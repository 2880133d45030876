import type { createGunzip as Gunzip, createGzip as Gzip } from "node:zlib";

/** See fs.ts. Loaded with the first compressed response, which a follower never receives. */
export const createGunzip: typeof Gunzip = (options) => process.getBuiltinModule("node:zlib").createGunzip(options);

export const createGzip: typeof Gzip = (options) => process.getBuiltinModule("node:zlib").createGzip(options);
