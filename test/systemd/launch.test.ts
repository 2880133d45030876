import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const launcher = path.resolve(import.meta.dirname, "../../systemd/launch.pl");

/** Prints one message from a socket of this name, while the launcher starts a program that sends it. */
const service = `
  use Socket;
  my $name = shift;
  (my $bound = $name) =~ s/^@/\\0/;
  socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die;
  bind($socket, pack_sockaddr_un($bound)) or die "$name: $!";
  my $child = fork // die;
  if (!$child) { $ENV{NOTIFY_SOCKET} = $name; exec @ARGV or die }
  recv($socket, my $message, 100, 0);
  print $message;
`;

describe("the launcher", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "siteward-launch-"));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  /** The environment of a program that it starts. */
  function launched(env: Readonly<Record<string, string>>, program = ["/usr/bin/env"]) {
    return spawnSync("perl", [launcher, ...program], { env: { PATH: "/usr/bin:/bin", ...env }, encoding: "utf8" });
  }

  test.each([
    ["in the file system", () => path.join(folder, "notify")],
    ["in the abstract namespace", () => `@siteward-${path.basename(folder)}`],
  ])("opens the service manager's socket %s for the program that replaces it", (_, name) => {
    const say = 'printf "READY=1 from $$" >&"$SITEWARD_NOTIFY_FD"';
    const received = execFileSync("perl", ["-e", service, name(), "perl", launcher, "/bin/bash", "-c", say]).toString();
    expect(received).toMatch(/^READY=1 from \d+$/);
  });

  test("ignores sockets without a listener, and those that an outer launcher opened", () => {
    const env = {
      NOTIFY_SOCKET: path.join(folder, "nobody"),
      SITEWARD_NOTIFY_FD: "7",
      SITEWARD_JOURNAL_FD: "8",
      MORE: "x",
    };
    const { status, stdout } = launched(env);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^MORE=x$/m);
    expect(stdout).not.toMatch(/SITEWARD_/);
  });

  test("passes arguments unchanged to the program, and its exit code to the service manager", () => {
    const { status, stdout } = launched({}, ["/bin/sh", "-c", 'printf "%s|" "$@"; exit 78', "sh", "a b", "$(c)", ""]);
    expect({ status, stdout }).toEqual({ status: 78, stdout: "a b|$(c)||" });
  });

  test("reports a missing program and a missing argument", () => {
    const missing = launched({}, [path.join(folder, "node")]);
    expect(missing.status).not.toBe(0);
    expect(missing.stderr).toContain(`launch.pl: cannot start ${folder}/node: No such file or directory`);
    expect(launched({}, []).stderr).toContain("no program given");
  });
});
