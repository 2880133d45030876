/** An address that the service may speak to, and whose it is. */
export interface Allowed {
  /** An address or a network, as IPAddressAllow= takes it. */
  readonly address: string;
  readonly whose: string;
}

export const hardenedFile = "/etc/systemd/system/siteward.service.d/30-hardened.conf";

/** Multicast DNS and the like are nothing that the agent speaks: there is no more than this. */
const always: readonly Allowed[] = [
  { address: "127.0.0.0/8", whose: "this board itself" },
  { address: "::1/128", whose: "this board itself" },
];

/** The root of the service's own view of the file system: empty, made at boot by the service's tmpfiles.d(5). */
export const hardenedRoot = "/run/siteward-root";

/**
 * What it sees besides its own folders, read-only: the program with its libraries, how names are looked up, which authorities
 * the board trusts, and what systemd tells of the clock and takes for the journal.
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
 * The unit made tighter: no memory that is both written and executed, for which V8 has to do without its compilers; no file
 * but those that it needs; and no packet to or from anybody but these.
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
