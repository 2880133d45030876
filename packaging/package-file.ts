/** A file of the package: where it will lie, below the root and without a slash before it, and what is in it. */
export type PackageFile = { readonly path: string; readonly mode: 0o644 | 0o755 } & (
  | { readonly text: string }
  | { readonly bytes: Uint8Array }
  | { readonly from: string }
);
