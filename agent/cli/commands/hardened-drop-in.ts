/** An address the service may communicate with, and its owner. */
export interface Allowed {
  /** An address or a network, as IPAddressAllow= takes it. */
  readonly address: string;
  readonly whose: string;
}

export const hardenedFile = "/etc/systemd/system/siteward.service.d/30-hardened.conf";

/** Always allowed. The agent does not use multicast DNS or the like. */
const always: readonly Allowed[] = [
  { address: "127.0.0.0/8", whose: "this board itself" },
  { address: "::1/128", whose: "this board itself" },
];

/** Root directory of the hardened service: empty, created at boot by tmpfiles.d(5). */
export const hardenedRoot = "/run/siteward-root";

/**
 * Visible read-only besides the service's own folders: program and libraries, name resolution, certificate authorities,
 * and systemd's clock state and journal.
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
 * Hardens the unit: no memory both writable and executable, so V8 runs without its compilers; only the necessary files;
 * packets only to and from the allowed addresses.
 */
export function hardenedDropIn(allowed: readonly Allowed[]): string {
  const lines = [...always, ...allowed].map(({ address, whose }) => `# ${whose}\nIPAddressAllow=${address}\n`);
  return `# Made by: siteward harden --write
# Make it again when the address of the API server, of the broker or of the board's own network changes.
[Service]
Environment=SITEWARD_HARDENED_FLAGS=--jitless
MemoryDenyWriteExecute=yes
RootDirectory=${hardenedRoot}
MountAPIVFS=yes
BindReadOnlyPaths=${visible.join(" ")}
IPAddressDeny=any
${[...new Set(lines)].join("")}`;
}
