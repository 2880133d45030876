import type { Profile } from "./profile.ts";

/** Where `siteward profile apply` puts what systemd must know of the board before the program starts. */
export const profileUnit = "/etc/systemd/system/siteward.service.d/10-profile.conf";

/** V8 takes the last word on each flag, and the unit puts these behind its own. */
export const profileFlags = ({ runtime }: Profile): readonly string[] => [
  `--max-old-space-size=${runtime.oldSpaceMiB}`,
  `--max-semi-space-size=${runtime.semiSpaceMiB}`,
  // A compiler that never runs need not have memory for its code.
  ...(runtime.jitless ? ["--jitless"] : []),
];

/** The drop-in of the unit; the same text for the same profile, so that nothing is written where nothing changed. */
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
