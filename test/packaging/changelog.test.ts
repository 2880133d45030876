import { expect, test } from "vitest";
import { debianChangelog, debianVersion } from "../../packaging/changelog.ts";

const released = new Date("2026-02-01T03:04:05Z");

const changelog = `# Changelog

Words about it.

## [Unreleased]

### Added

- Not released yet.

## [1.2.0] - 2026-02-01

### Added

- A change that takes more than one line because it has to say a good deal about
  what became different, and for whom.
- Another one.

### Fixed

- A mistake.

## [1.1.0] - 2026-01-01

- An old change.
`;

test("a released version shows its own changes, in Debian's format", () => {
  expect(debianChangelog(changelog, "1.2.0", released)).toBe(`siteward (1.2.0) unstable; urgency=medium

  [ Added ]
  * A change that takes more than one line because it has to say a good deal
    about what became different, and for whom.
  * Another one.

  [ Fixed ]
  * A mistake.

 -- Siteward maintainers <maintainers@siteward.dev>  Sun, 01 Feb 2026 03:04:05 +0000
`);
});

test("a version without its own section shows the unreleased changes", () => {
  expect(debianChangelog(changelog, "1.3.0-rc.1", released)).toMatch(
    /^siteward \(1\.3\.0~rc\.1\) unstable.*\n\n {2}\[ Added \]\n {2}\* Not released yet\.\n/,
  );
});

test("an empty changelog is reported as such", () => {
  expect(debianChangelog("# Changelog\n", "1.0.0", released)).toMatch(/\* No changes were recorded\./);
});

test("a pre-release sorts before its release", () => {
  expect(debianVersion("1.3.0-rc.1")).toBe("1.3.0~rc.1");
  expect(debianVersion("1.3.0")).toBe("1.3.0");
});
