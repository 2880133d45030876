/** What differs between the processors that a package can be for. */
export interface Architecture {
  readonly name: ArchitectureName;
  /** As Node and npm call it. */
  readonly node: "x64" | "arm64";
  /** As compilers call it: the prefix of their tools. */
  readonly triplet: string;
}

export type ArchitectureName = "amd64" | "arm64";

export const architectures: Readonly<Record<ArchitectureName, Architecture>> = {
  amd64: { name: "amd64", node: "x64", triplet: "x86_64-linux-gnu" },
  arm64: { name: "arm64", node: "arm64", triplet: "aarch64-linux-gnu" },
};

export const isArchitecture = (name: string): name is ArchitectureName => Object.hasOwn(architectures, name);

/** That of this machine, if a package can be for it. */
export const ownArchitecture: Architecture | undefined = Object.values(architectures).find(
  ({ node }) => node === process.arch,
);
