/** A processor that packages are built for. */
export interface Architecture {
  readonly name: ArchitectureName;
  /** The name in Node and npm. */
  readonly node: "x64" | "arm64";
  /** The prefix of compiler tools. */
  readonly triplet: string;
}

export type ArchitectureName = "amd64" | "arm64";

export const architectures: Readonly<Record<ArchitectureName, Architecture>> = {
  amd64: { name: "amd64", node: "x64", triplet: "x86_64-linux-gnu" },
  arm64: { name: "arm64", node: "arm64", triplet: "aarch64-linux-gnu" },
};

export const isArchitecture = (name: string): name is ArchitectureName => Object.hasOwn(architectures, name);

/** This machine's architecture, if packages are built for it. */
export const ownArchitecture: Architecture | undefined = Object.values(architectures).find(
  ({ node }) => node === process.arch,
);
