import type { Profile } from "./profile.ts";

/** The drop-in that `siteward profile apply` writes: systemd must know these values before the program starts. */
export const profileUnit = "/etc/systemd/system/siteward.service.d/10-profile.conf";

/** V8 follows the last occurrence of each flag, and the unit puts these behind its own. */
export const profileFlags = ({ runtime }: Profile): readonly string[] => [
  `--max-old-space-size=${runtime.oldSpaceMiB}`,
  `--max-semi-space-size=${runtime.semiSpaceMiB}`,
  // A compiler that never runs needs no memory for its code.
  ...(runtime.jitless ? ["--jitless"] : []),
];

/** The unit's drop-in. The same profile gives the same text, so that an unchanged one is not written. */
export const profileUnitText = (profile: Profile): string =>
  [
    "# Made by: siteward profile apply. The next one replaces it; what shall stay belongs into a drop-in of another name.",
    `# ${profile.title} (${profile.id})`,
    "[Service]",
    `Environment="SITEWARD_NODE_FLAGS=${profileFlags(profile).join(" ")}"`,
    `MemoryHigh=${profile.runtime.memoryHighMiB}M`,
    `MemoryMax=${profile.runtime.memoryMaxMiB}M`,
    "",
  ].join("\n");
