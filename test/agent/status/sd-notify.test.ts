import { describe, expect, test } from "vitest";
import { notifierOf } from "../../../agent/status/sd-notify.ts";
import { ServiceManager } from "../../../agent/status/service-manager.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const pid = 412;

/** A service manager that records each message, and the way by which it came. */
function listening(env: Readonly<Record<string, string>>) {
  const sent: string[] = [];
  const ended: (() => void)[] = [];
  const notifier = notifierOf({
    env,
    pid,
    write: (fd, text) => sent.push(`${fd} ${text}`),
    start: (program, args, surroundings, done) => {
      sent.push(`${program} ${args.join(" ")} to ${surroundings.NOTIFY_SOCKET}`);
      ended.push(done);
    },
  });
  return { notifier, sent, endOne: () => ended.shift()?.() };
}

describe("the way to the service manager", () => {
  const opened = { LISTEN_PID: "412", LISTEN_FDS: "2", LISTEN_FDNAMES: "journal:notify" };
  const launched = { SITEWARD_NOTIFY_FD: "7" };
  const ofUnit = { NOTIFY_SOCKET: "/run/systemd/notify" };

  test.each([
    ["a socket that systemd opened, before all others", { ...opened, ...launched, ...ofUnit }, "4 READY=1"],
    ["a socket that the launcher opened, if systemd opened none", { ...launched, ...ofUnit }, "7 READY=1"],
    ["a program for each message, if there is no socket", ofUnit, "systemd-notify READY=1 to /run/systemd/notify"],
    [
      "the launcher's socket, if systemd's belong to another process",
      { ...opened, LISTEN_PID: "411", ...launched },
      "7 READY=1",
    ],
    [
      "the launcher's socket, if systemd's have other names",
      { ...opened, LISTEN_FDNAMES: "http:journal", ...launched },
      "7 READY=1",
    ],
    [
      "a program, if the launcher's socket is not a number",
      { SITEWARD_NOTIFY_FD: "x", ...ofUnit },
      "systemd-notify READY=1 to /run/systemd/notify",
    ],
  ])("a message goes to %s", (_, env, expected) => {
    const { notifier, sent } = listening(env);
    notifier.send("READY=1");
    expect(sent).toEqual([expected]);
  });

  test("without a socket nothing is sent, and no program is started", () => {
    const { notifier, sent } = listening({ NOTIFY_SOCKET: "" });
    notifier.send("READY=1");
    expect(sent).toEqual([]);
  });

  test("programs run one after the other, and messages that arrive in the meantime are sent together, in order", () => {
    const { notifier, sent, endOne } = listening(ofUnit);
    for (const line of ["RELOADING=1", "STATUS=new", "READY=1"]) notifier.send(line);
    expect(sent).toEqual(["systemd-notify RELOADING=1 to /run/systemd/notify"]);
    endOne();
    endOne();
    notifier.send("WATCHDOG=1");
    expect(sent.slice(1)).toEqual([
      "systemd-notify STATUS=new READY=1 to /run/systemd/notify",
      "systemd-notify WATCHDOG=1 to /run/systemd/notify",
    ]);
  });

  test("a program that hangs does not delay anything, and the memory for its messages is bounded", () => {
    const { notifier, sent, endOne } = listening(ofUnit);
    for (let beat = 0; beat < 1000; beat++) notifier.send(`STATUS=${beat}`);
    endOne();
    expect(sent).toHaveLength(2);
    expect(sent[1]).toMatch(/STATUS=999 to/);
    expect(sent[1]?.match(/STATUS=/g)).toHaveLength(8);
  });

  test("a socket whose other end is gone or busy causes no error", () => {
    expect(() => notifierOf({ env: { SITEWARD_NOTIFY_FD: "9999" }, pid }).send("WATCHDOG=1")).not.toThrow();
  });
});

describe("the service manager receives", () => {
  function conversation() {
    const { notifier, sent } = listening({ SITEWARD_NOTIFY_FD: "7" });
    const clock = new FakeClock();
    return { service: new ServiceManager({ clock }, { notifier }), clock, sent };
  }

  test("readiness once, and again after each reload, which carries the monotonic time in microseconds", () => {
    const { service, clock, sent } = conversation();
    service.ready();
    service.ready();
    service.reloading();
    service.ready();
    const now = clock.now().mono * 1000;
    expect(sent).toEqual(["7 READY=1", `7 RELOADING=1\nMONOTONIC_USEC=${now}`, "7 READY=1"]);
  });

  test("a status line of at most 100 characters, and only when it changes", () => {
    const { service, sent } = conversation();
    for (const line of ["a".repeat(100), "a".repeat(100), "b".repeat(101)]) service.status(line);
    expect(sent).toEqual([`7 STATUS=${"a".repeat(100)}`, `7 STATUS=${"b".repeat(99)}…`]);
  });

  test("a line break in a sentence only as part of the status", () => {
    const { service, sent } = conversation();
    service.status("no\nREADY=1");
    expect(sent).toEqual(["7 STATUS=no READY=1"]);
  });

  test("extensions of a timeout", () => {
    const { service, sent } = conversation();
    service.extend(90_000);
    expect(sent).toEqual(["7 EXTEND_TIMEOUT_USEC=90000000"]);
  });
});
