import { expect, test } from "vitest";
import {
  type ServiceState,
  standstill,
  type UnitState,
} from "../../../../../agent/cli/commands/status/service-state.ts";

const stopped: UnitState = {
  LoadState: "loaded",
  UnitFileState: "enabled",
  ActiveState: "inactive",
  Result: "success",
  ExecMainStatus: "0",
};

const seen = (unit: Partial<UnitState>, isEnrolled = true): ServiceState => ({
  unit: { ...stopped, ...unit },
  isEnrolled,
});

test.each<[what: string, state: ServiceState, why: RegExp, next: RegExp]>([
  ["a machine without systemd", { unit: undefined, isEnrolled: false }, /systemd is not running/, /siteward run/],
  [
    "a board without the package",
    seen({ LoadState: "not-found", UnitFileState: "" }, false),
    /not installed/,
    /apt install/,
  ],
  ["a masked unit", seen({ LoadState: "masked" }), /masked/, /unmask/],
  ["a board that has never been enrolled", seen({}, false), /never been enrolled/, /^sudo siteward enroll, then/],
  [
    "a board that has never been enrolled and whose service was disabled",
    seen({ UnitFileState: "disabled" }, false),
    /never been enrolled/,
    /enable --now siteward$/,
  ],
  ["a service that was stopped", seen({}), /stopped$/, /^sudo systemctl start siteward$/],
  ["a service that was disabled", seen({ UnitFileState: "disabled" }), /not enabled/, /enable --now siteward$/],
  [
    "a board whose enrolment this user cannot read",
    { ...seen({}), isEnrolled: undefined },
    /stopped/,
    /start.*siteward enroll$/,
  ],
  [
    "a configuration that cannot be used",
    seen({ ActiveState: "failed", ExecMainStatus: "78" }),
    /status 78/,
    /config check/,
  ],
  ["a crash", seen({ ActiveState: "failed", Result: "signal" }), /failed \(signal\)/, /journalctl/],
  ["a start that continues", seen({ ActiveState: "activating" }), /activating/, /^wait.*journalctl/],
  [
    "an agent that ends again and again",
    seen({ ActiveState: "activating", ExecMainStatus: "1" }),
    /keeps failing \(status 1\)/,
    /journalctl/,
  ],
  [
    "a removed credential of the fleet",
    seen({ ActiveState: "activating", Result: "exit-code", ExecMainStatus: "243" }),
    /credential .* is missing/,
    /doctor --only creds,mqtt, then sudo siteward enroll/,
  ],
  ["an agent that hangs", seen({ ActiveState: "active" }), /is running/, /watchdog/],
])("%s is reported with the one step that helps", (_, state, why, next) => {
  const found = standstill(state);
  expect(found.why).toMatch(why);
  expect(found.next).toMatch(next);
});
