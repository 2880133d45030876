import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { rest } from "../support/rest.ts";
import { Board, root, whyNoHost } from "./board.ts";

/** Passes sockets like OpenFile= of systemd 253: as descriptors 3 and 4, named in variables for this process. */
const passing = `use POSIX ();
use Socket qw(AF_UNIX SOCK_DGRAM pack_sockaddr_un);
our @sockets;
for my $at (0, 1) {
  my $path = ('/run/systemd/notify', '/run/systemd/journal/socket')[$at];
  socket($sockets[$at], AF_UNIX, SOCK_DGRAM, 0) or die;
  connect($sockets[$at], pack_sockaddr_un($path)) or die "$path: $!";
}
# To other numbers first: 3 and 4 may be these same sockets in the other order.
POSIX::dup2(fileno $sockets[$_], 20 + $_) for 0, 1;
POSIX::dup2(20 + $_, 3 + $_) for 0, 1;
@ENV{qw(LISTEN_PID LISTEN_FDS LISTEN_FDNAMES)} = ($$, 2, 'notify:journal');
exec { $ARGV[0] } @ARGV;
`;

/** The command of the unit with another launcher. */
const launchedBy = (launcher: string): string => {
  const unit = readFileSync(path.join(root, "systemd/siteward.service"), "utf8");
  const start = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? "";
  return `ExecStart=\nExecStart=${start.replace("/usr/lib/siteward/launch.pl", launcher)}`;
};

describe.skipIf(whyNoHost !== undefined)("the notifications to the service manager", () => {
  let board: Board;
  let version = 0;

  beforeAll(async () => {
    board = await Board.make();
    version = Number.parseInt(/\d+/.exec(await board.host.sh("systemctl --version"))?.[0] ?? "", 10);
  });

  afterAll(async () => {
    await board?.end();
  });

  beforeEach(async () => {
    await board.reset();
    await board.drop("90-watchdog", "WatchdogSec=6");
  });

  /** Checks the notifications of start, watchdog, status text and the end of a reload. */
  async function expectConversation(): Promise<void> {
    await board.start();
    const pid = await board.pid();
    expect((await board.host.unit("siteward", "StatusText")).StatusText).toMatch(/^standby default/);
    await rest(10);
    await board.host.sh("systemctl reload siteward", { seconds: 60 });
    // systemd 252 does not wait for the end of a reload.
    await board.host.until("siteward", { ActiveState: "active" }, 20);
    expect((await board.host.unit("siteward", "NRestarts")).NRestarts).toBe("0");
    expect(await board.pid()).toBe(pid);
  }

  const forks = async (): Promise<number> =>
    Number(await board.host.sh("journalctl -o json --no-pager _COMM=systemd-notify | wc -l"));

  test("are sent to the socket that the launcher opened", async () => {
    await expectConversation();
    const pid = await board.pid();
    expect(await board.host.sh(`tr '\\0' '\\n' < /proc/${pid}/environ`)).toMatch(/^SITEWARD_NOTIFY_FD=\d+$/m);
    expect(await board.host.sh(`tr '\\0' ' ' < /proc/${pid}/cmdline`)).toMatch(/^\/usr\/lib\/siteward\/bin\/node /);
    expect(await forks()).toBe(0);
  });

  test("are sent by systemd-notify if perl is missing", async () => {
    await board.dropShipped("20-systemd-notify");
    await expectConversation();
    expect(await board.host.sh(`tr '\\0' '\\n' < /proc/${await board.pid()}/environ`)).not.toMatch(
      /SITEWARD_NOTIFY_FD/,
    );
  });

  test("are sent to the socket that systemd itself opened (OpenFile=)", async (story) => {
    if (version < 253) {
      console.warn(`skipped: OpenFile=, because systemd ${version} lacks it; 253 is needed`);
      story.skip(`systemd ${version} has no OpenFile=`);
    }
    await board.dropShipped("20-openfile");
    await expectConversation();
    expect(await board.host.sh(`tr '\\0' '\\n' < /proc/${await board.pid()}/environ`)).toMatch(
      /LISTEN_FDNAMES=notify:journal/,
    );
  });

  test("are sent to sockets that are passed like those of OpenFile=, with any systemd", async () => {
    await board.host.write("/usr/lib/siteward/pass.pl", passing, "755");
    await board.drop("20-passed", launchedBy("/usr/lib/siteward/pass.pl"));
    await expectConversation();
    const environment = await board.host.sh(`tr '\\0' '\\n' < /proc/${await board.pid()}/environ`);
    expect(environment).toMatch(/LISTEN_FDNAMES=notify:journal/);
    expect(environment).not.toMatch(/SITEWARD_NOTIFY_FD/);
    expect(await board.journal("-o", "json", "SITEWARD_OUTCOME=unchanged")).toContain('"_TRANSPORT":"journal"');
    expect(await forks()).toBe(0);
  });

  test("are required: without them systemd aborts the start", async () => {
    // The same agent without a socket: proves that the notifications make the service active.
    await board.dropShipped("20-systemd-notify");
    await board.drop("95-mute", "NotifyAccess=main\nTimeoutStartSec=8\nUnsetEnvironment=NOTIFY_SOCKET\nRestart=no");
    expect((await board.host.run("systemctl start siteward")).code).not.toBe(0);
    expect((await board.host.unit("siteward", "Result")).Result).toBe("timeout");
  });
});
