import { expect, test } from "vitest";
import type { JsonRecord } from "../../../agent/base/json.ts";
import type { Loaded } from "../../../agent/config/load.ts";
import { fitRemote, whyNotToLeadWithout } from "../../../agent/config/remote-fit.ts";
import type { SettingsConflict } from "../../../agent/config/rules.ts";
import { ConflictError } from "../../../agent/config/whole.ts";

/** What is left of the fleet's settings, and the paths that were left out. The first load finds the conflicts. */
function fitted(config: JsonRecord, conflicts: readonly SettingsConflict[] = []) {
  let isFirst = true;
  let kept: JsonRecord = {};
  const load = (remote: { readonly config: JsonRecord }): Loaded => {
    if (isFirst && conflicts.length > 0) {
      isFirst = false;
      throw new ConflictError(["they conflict"], conflicts);
    }
    kept = remote.config;
    return Object({});
  };
  const { leftOut } = fitRemote({ version: 4, hash: "a", config }, { locked: "log.format", load });
  return { kept, leftOut, paths: leftOut?.faults.map(({ path }) => path) };
}

const many = Object.fromEntries(Array.from({ length: 45 }, (_, n) => [`unknown-${n}`, n]));

test.each<[string, JsonRecord, JsonRecord, readonly string[] | undefined]>([
  ["nothing is wrong", { log: { level: "debug" } }, { log: { level: "debug" } }, undefined],
  ["a section is a number", { leader: 5, log: { level: "debug" } }, { log: { level: "debug" } }, ["/leader"]],
  [
    "a section and a member of another are wrong",
    { leader: 5, log: { level: "loud" } },
    { log: {} },
    ["/leader", "/log/level"],
  ],
  ["more is wrong than one round lists", { ...many, log: { level: "debug" } }, { log: { level: "debug" } }, undefined],
  [
    "a key has a slash and a tilde",
    { log: { "a/b~c": 1, level: "debug" } },
    { log: { level: "debug" } },
    ["/log/a~1b~0c"],
  ],
  ["a key is locked", { log: { format: "json" } }, { log: {} }, ["/log/format"]],
])("if %s, only what is wrong is left out", (_, config, kept, paths) => {
  const found = fitted(config);
  expect(found.kept).toEqual(kept);
  if (paths) expect(found.paths).toEqual(paths);
  else expect(found.paths?.length).toBe("unknown-0" in config ? 45 : undefined);
});

test("if two fleet settings conflict, both are left out, and the others are kept", () => {
  const { kept, leftOut } = fitted({ leader: { duration: "30s", renewDeadline: "40s", retry: "5s" } }, [
    { path: "leader.renewDeadline", against: ["leader.duration"], message: "must be shorter" },
  ]);
  expect(kept).toEqual({ leader: { retry: "5s" } });
  expect(leftOut?.faults).toEqual([
    { path: "/leader/renewDeadline", code: "schema", message: "must be shorter" },
    { path: "/leader/duration", code: "schema", message: "does not fit: leader.renewDeadline must be shorter" },
  ]);
  expect(whyNotToLeadWithout(leftOut)).toBeUndefined();
});

test("a section and one of its settings may both conflict", () => {
  const conflicts = [{ path: "leader", against: ["leader.retry"], message: "is odd" }];
  expect(fitted({ leader: { retry: "5s" }, log: { level: "debug" } }, conflicts).kept).toEqual({
    log: { level: "debug" },
  });
});

test("a conflict between this board's own settings is not the fleet's fault", () => {
  const own = [{ path: "leader.retry", against: ["leader.duration"], message: "is too long" }];
  expect(() => fitted({ log: { level: "debug" } }, own)).toThrow(ConflictError);
});
