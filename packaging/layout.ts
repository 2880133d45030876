import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import type { Architecture } from "./architectures.ts";
import { sqliteImport } from "./bundle.ts";
import type { PackageFile } from "./package-file.ts";
import { entryOf, sqliteBinding } from "./sqlite-binding.ts";

/** The inputs of the layout, built before it. */
export interface LayoutParts {
  readonly root: string;
  readonly architecture: Architecture;
  readonly version: string;
  readonly node: { readonly binary: string; readonly license: string };
  /** The stripped binary of better-sqlite3. */
  readonly sqlite: string;
  readonly bundle: { readonly folder: string; readonly files: readonly string[] };
  readonly man: string;
  readonly completion: string;
  readonly copyright: string;
  readonly changelog: string;
}

const program = "usr/lib/siteward";
const docs = "usr/share/doc/siteward";

/** The guide for operators and the pages that it refers to. */
const pages = ["operator", "judgement", "security", "late-writes", "interfaces", "signed-commands", "third-party"];

/** Every file that dpkg installs. Files that belong to the board itself (credentials, conf.d) are not included. */
export function layout(parts: LayoutParts): readonly PackageFile[] {
  const { root, architecture, version, node, sqlite, bundle } = parts;
  const from = (file: string, at: string, mode: 0o644 | 0o755 = 0o644): PackageFile => ({
    path: at,
    mode,
    from: path.join(root, file),
  });
  const allOf = (folder: string, ending: string, at: string): readonly PackageFile[] =>
    readdirSync(path.join(root, folder))
      .filter((name) => name.endsWith(ending))
      .map((name) => from(`${folder}/${name}`, `${at}/${name}`));
  return [
    { path: `${program}/bin/node`, mode: 0o755, from: node.binary },
    ...bundle.files.map((name) => ({
      path: `${program}/dist/${name}`,
      mode: 0o644 as const,
      from: path.join(bundle.folder, name),
    })),
    text(`${program}/package.json`, manifest(version, architecture)),
    ...sqliteBinding(architecture, { root, folder: `${program}/better-sqlite3`, binary: sqlite }),
    ...allOf("firmware-profiles", ".json", `${program}/profiles.d`),
    from("systemd/launch.pl", `${program}/launch.pl`, 0o755),
    from("packaging/debian/siteward", "usr/bin/siteward", 0o755),
    from("systemd/siteward.service", "usr/lib/systemd/system/siteward.service"),
    from("systemd/sysusers.conf", "usr/lib/sysusers.d/siteward.conf"),
    from("systemd/tmpfiles.conf", "usr/lib/tmpfiles.d/siteward.conf"),
    from("packaging/debian/siteward.yaml", "etc/siteward/siteward.yaml"),
    packed("usr/share/man/man8/siteward.8.gz", parts.man),
    text("usr/share/bash-completion/completions/siteward", parts.completion),
    from("packaging/debian/lintian-overrides", "usr/share/lintian/overrides/siteward"),
    ...pages.map((page) => from(`docs/${page}.md`, `${docs}/${page}.md`)),
    from("systemd/siteward.example.yaml", `${docs}/examples/siteward.yaml`),
    from("systemd/rbac.yaml", `${docs}/examples/rbac.yaml`),
    ...allOf("systemd/drop-ins", ".conf", `${docs}/examples`),
    text(`${docs}/copyright`, parts.copyright),
    packed(`${docs}/changelog.gz`, parts.changelog),
    packed(`${docs}/node.license.gz`, readFileSync(node.license, "utf8")),
  ];
}

/** The package.json that declares the scripts as modules and maps the SQLite import to its file. */
const manifest = (version: string, architecture: Architecture): string =>
  `${JSON.stringify({ name: "siteward", version, type: "module", imports: { [sqliteImport]: entryOf(architecture) } })}\n`;

const text = (at: string, content: string): PackageFile => ({ path: at, mode: 0o644, text: content });

/** A file compressed as by `gzip -9n`, without its name and time. */
const packed = (at: string, content: string): PackageFile => ({
  path: at,
  mode: 0o644,
  bytes: gzipSync(content, { level: 9 }),
});
