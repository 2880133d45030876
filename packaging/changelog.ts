import { maintainer } from "./control.ts";

const width = 76;

/**
 * The section of CHANGELOG.md for a version in Debian's format. For a version without a section, the unreleased one is
 * used.
 */
export function debianChangelog(changelog: string, version: string, released: Date): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.startsWith(`[${version}]`)) ?? sections[0] ?? "";
  const parts = section
    .split("\n")
    .slice(1)
    .join("\n")
    .split(/^(?=- |### )/m)
    .map((part) => part.replace(/\s+/g, " ").trim())
    .filter((part) => part !== "")
    .map((part) => (part.startsWith("### ") ? `\n  [ ${part.slice(4)} ]` : wrapped(part.slice(2))));
  const body = parts.length > 0 ? parts.join("\n") : "\n  * No changes were recorded.";
  return `siteward (${debianVersion(version)}) unstable; urgency=medium\n${body}\n\n -- ${maintainer}  ${mailDate(released)}\n`;
}

/** The version with "~" in place of "-", so that dpkg also sorts a pre-release before its release. */
export const debianVersion = (version: string): string => version.replace("-", "~");

function wrapped(text: string): string {
  const lines: string[] = [];
  let line = "  *";
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > width) {
      lines.push(line);
      line = "   ";
    }
    line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}

/** The date format of RFC 5322. */
const mailDate = (date: Date): string => date.toUTCString().replace(/GMT$/, "+0000");
