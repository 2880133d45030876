import type { Profile } from "./profile.ts";

/**
 * The drop-in that `siteward profile apply` writes, because systemd must know these values before the program starts.
 */
export const profileUnit = "/etc/systemd/system/siteward.service.d/10-profile.conf";

/** Flags for Node.js. The unit appends them to its own flags; if a flag is repeated, V8 applies the last one. */
export const profileFlags = ({ runtime }: Profile): readonly string[] => [
  `--max-old-space-size=${runtime.oldSpaceMiB}`,
  `--max-semi-space-size=${runtime.semiSpaceMiB}`,
  // Without just-in-time compilers, no memory is needed for compiled code.
  ...(runtime.jitless ? ["--jitless"] : []),
];

/** The text of the drop-in. It depends only on the profile, so the caller can skip writing an unchanged drop-in. */
export const profileUnitText = (profile: Profile): string =>
  [
    "# Written by siteward profile apply, which replaces this file. Put your own changes in another drop-in.",
    `# ${profile.title} (${profile.id})`,
    "[Service]",
    `Environment="SITEWARD_NODE_FLAGS=${profileFlags(profile).join(" ")}"`,
    `MemoryHigh=${profile.runtime.memoryHighMiB}M`,
    `MemoryMax=${profile.runtime.memoryMaxMiB}M`,
    "",
  ].join("\n");
