/** A file of the package: its path, relative to the root without a leading slash, and its content. */
export type PackageFile = { readonly path: string; readonly mode: 0o644 | 0o755 } & (
  | { readonly text: string }
  | { readonly bytes: Uint8Array }
  | { readonly from: string }
);
