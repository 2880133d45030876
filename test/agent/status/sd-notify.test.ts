import { describe, expect, test } from "vitest";
import { notifierOf } from "../../../agent/status/sd-notify.ts";
import { ServiceManager } from "../../../agent/status/service-manager.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const pid = 412;

/** A service manager that takes down what it is told, and by which way. */
function listening(env: Readonly<Record<string, string>>) {
  const heard: string[] = [];
  const ended: (() => void)[] = [];
  const notifier = notifierOf({
    env,
    pid,
    write: (fd, text) => heard.push(`${fd} ${text}`),
    start: (program, args, surroundings, done) => {
      heard.push(`${program} ${args.join(" ")} to ${surroundings.NOTIFY_SOCKET}`);
      ended.push(done);
    },
  });
  return { notifier, heard, endOne: () => ended.shift()?.() };
}

describe("the way to the service manager", () => {
  const opened = { LISTEN_PID: "412", LISTEN_FDS: "2", LISTEN_FDNAMES: "journal:notify" };
  const launched = { SITEWARD_NOTIFY_FD: "7" };
  const told = { NOTIFY_SOCKET: "/run/systemd/notify" };

  test.each([
    ["a socket that systemd opened goes before all", { ...opened, ...launched, ...told }, "4 READY=1"],
    ["then one that the launcher opened", { ...launched, ...told }, "7 READY=1"],
    ["then a program for each message", told, "systemd-notify READY=1 to /run/systemd/notify"],
    ["sockets of another process are not ours", { ...opened, LISTEN_PID: "411", ...launched }, "7 READY=1"],
    ["nor are sockets of other names", { ...opened, LISTEN_FDNAMES: "http:journal", ...launched }, "7 READY=1"],
    [
      "what is no number is no socket",
      { SITEWARD_NOTIFY_FD: "x", ...told },
      "systemd-notify READY=1 to /run/systemd/notify",
    ],
  ])("%s", (_, env, expected) => {
    const { notifier, heard } = listening(env);
    notifier.tell("READY=1");
    expect(heard).toEqual([expected]);
  });

  test("where nobody listens nothing is said, and nothing is started", () => {
    const { notifier, heard } = listening({ NOTIFY_SOCKET: "" });
    notifier.tell("READY=1");
    expect(heard).toEqual([]);
  });

  test("programs run one after the other; what was said meanwhile goes together, in its order", () => {
    const { notifier, heard, endOne } = listening(told);
    for (const line of ["RELOADING=1", "STATUS=new", "READY=1"]) notifier.tell(line);
    expect(heard).toEqual(["systemd-notify RELOADING=1 to /run/systemd/notify"]);
    endOne();
    endOne();
    notifier.tell("WATCHDOG=1");
    expect(heard.slice(1)).toEqual([
      "systemd-notify STATUS=new READY=1 to /run/systemd/notify",
      "systemd-notify WATCHDOG=1 to /run/systemd/notify",
    ]);
  });

  test("a program that hangs keeps nobody waiting, and the memory for its messages is bounded", () => {
    const { notifier, heard, endOne } = listening(told);
    for (let beat = 0; beat < 1000; beat++) notifier.tell(`STATUS=${beat}`);
    endOne();
    expect(heard).toHaveLength(2);
    expect(heard[1]).toMatch(/STATUS=999 to/);
    expect(heard[1]?.match(/STATUS=/g)).toHaveLength(8);
  });

  test("a socket whose other end is gone or busy is no error", () => {
    expect(() => notifierOf({ env: { SITEWARD_NOTIFY_FD: "9999" }, pid }).tell("WATCHDOG=1")).not.toThrow();
  });
});

describe("what the service manager is told", () => {
  function conversation() {
    const { notifier, heard } = listening({ SITEWARD_NOTIFY_FD: "7" });
    const clock = new FakeClock();
    return { service: new ServiceManager({ clock }, { notifier }), clock, heard };
  }

  test("readiness once, and again after each reload, which carries the monotonic time in microseconds", () => {
    const { service, clock, heard } = conversation();
    service.ready();
    service.ready();
    service.reloading();
    service.ready();
    const now = clock.now().mono * 1000;
    expect(heard).toEqual(["7 READY=1", `7 RELOADING=1\nMONOTONIC_USEC=${now}`, "7 READY=1"]);
  });

  test("a status line of 100 letters at most, and only where it changed", () => {
    const { service, heard } = conversation();
    for (const line of ["a".repeat(100), "a".repeat(100), "b".repeat(101)]) service.status(line);
    expect(heard).toEqual([`7 STATUS=${"a".repeat(100)}`, `7 STATUS=${"b".repeat(99)}…`]);
  });

  test("a line break in a sentence cannot say anything else than the status", () => {
    const { service, heard } = conversation();
    service.status("no\nREADY=1");
    expect(heard).toEqual(["7 STATUS=no READY=1"]);
  });

  test("how much longer something takes", () => {
    const { service, heard } = conversation();
    service.extend(90_000);
    expect(heard).toEqual(["7 EXTEND_TIMEOUT_USEC=90000000"]);
  });
});
