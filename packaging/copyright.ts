import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { manifestIn } from "./npm-package.ts";
import { inBinding } from "./shipped-modules.ts";

const licenseName = /^licen[cs]e(\.(md|txt))?$/i;

/**
 * The text of /usr/share/doc/siteward/copyright. It contains the full licenses of all bundled modules, as they require;
 * Node's license, which is 150 KB long, is in a file next to it.
 */
export function copyrightOf(root: string, packages: readonly string[]): string {
  const parts = [...new Set([...packages, ...inBinding])].sort().map((folder) => {
    const { name, version } = manifestIn(path.join(root, folder));
    return `${rule}\n${name} ${version}, from the npm registry\n${rule}\n\n${licenseIn(path.join(root, folder))}\n`;
  });
  return [ownPart, ...parts].join("\n");
}

const rule = "-".repeat(78);

const ownPart = `Siteward
========

Copyright: the authors of siteward

Licensed under the Apache License, Version 2.0. On Debian systems, the full
text of that license is in /usr/share/common-licenses/Apache-2.0.

/usr/lib/siteward/bin/node is Node.js, as its project publishes it, without
its symbols. Its license, and those of what it contains, are in
/usr/share/doc/siteward/node.license.gz.

/usr/lib/siteward/better-sqlite3 contains SQLite, which is in the public
domain. The licenses of the npm packages in /usr/lib/siteward follow.
`;

/**
 * The license text of an npm package. Throws if there is none, because such a package must not be shipped unchecked.
 */
function licenseIn(folder: string): string {
  const { name, license } = manifestIn(folder);
  const names = readdirSync(folder);
  const text = (file: string): string => readFileSync(path.join(folder, file), "utf8").replaceAll("\r", "").trimEnd();
  if (license === "Apache-2.0") {
    const notices = names.filter((file) => /^notice(\.|$)/i.test(file)).map((file) => `\n\n${text(file)}`);
    return `Licensed under the Apache License, Version 2.0: see above.${notices.join("")}`;
  }
  const file = names.find((one) => licenseName.test(one));
  if (file === undefined) throw new Error(`${name} (${license ?? "no license"}) has no LICENSE file`);
  return text(file);
}
