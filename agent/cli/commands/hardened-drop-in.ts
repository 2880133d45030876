/** An address that the service may communicate with, and its owner, for a comment. */
export interface Allowed {
  /** An address or a network in the form of IPAddressAllow=. */
  readonly address: string;
  readonly owner: string;
}

export const hardenedFile = "/etc/systemd/system/siteward.service.d/30-hardened.conf";

/** The addresses that are always allowed: loopback. Multicast is not needed. */
const always: readonly Allowed[] = [
  { address: "127.0.0.0/8", owner: "this board itself" },
  { address: "::1/128", owner: "this board itself" },
];

/** Root directory of the hardened service: empty, created at boot by tmpfiles.d(5). */
export const hardenedRoot = "/run/siteward-root";

/**
 * Paths that the service may read, besides its own folders: program and libraries, name resolution, certificate
 * authorities, and systemd's clock state and journal.
 */
const visible = [
  "/usr",
  ...["/bin", "/sbin", "/lib", "/lib64", "/etc/siteward", "/etc/ssl", "/etc/ca-certificates", "/etc/hosts"],
  ...[
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/ld.so.cache",
    "/etc/os-release",
    "/etc/localtime",
    "/run/systemd",
    "/run/dbus",
  ],
].map((place) => (place === "/usr" ? place : `-${place}`));

/**
 * The text of the drop-in. It forbids memory that is writable and executable, so V8 runs without its compilers; it
 * hides all files that are not needed; and it permits network traffic only with the allowed addresses.
 */
export function hardenedDropIn(allowed: readonly Allowed[]): string {
  const lines = [...always, ...allowed].map(({ address, owner }) => `# ${owner}\nIPAddressAllow=${address}\n`);
  return `# Written by: siteward harden --write
# Write it again when the address of the API server, of the broker or of the board's own network changes.
[Service]
Environment=SITEWARD_HARDENED_FLAGS=--jitless
MemoryDenyWriteExecute=yes
RootDirectory=${hardenedRoot}
MountAPIVFS=yes
BindReadOnlyPaths=${visible.join(" ")}
IPAddressDeny=any
${[...new Set(lines)].join("")}`;
}
