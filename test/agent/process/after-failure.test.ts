import { expect, test } from "vitest";
import { shifted } from "../../../agent/base/clock.ts";
import { ConfigError } from "../../../agent/base/errors.ts";
import { ServerRestoredError } from "../../../agent/informer/server-history.ts";
import { afterFailure, type FailedRun } from "../../../agent/process/after-failure.ts";
import { StorageError, type StorageErrorKind } from "../../../storage/errors.ts";

const start = { mono: 5_000_000, wall: 0 };
const cache = (kind: StorageErrorKind): StorageError => new StorageError(kind, { file: "/s/cache.db" });
const state = (kind: StorageErrorKind): StorageError =>
  new StorageError(kind, { file: "/s/state.db", disposable: false });
const at = (minutes: number, error: unknown): FailedRun => ({ error, at: shifted(start, minutes * 60_000) });

test.each<[what: string, error: unknown, next: object]>([
  ["a damaged cache is recreated", cache("damaged"), { do: "again", rebuild: true }],
  ["a damaged state is set aside, and a new one begun", state("damaged"), { do: "again", rebuild: false }],
  ["a full disk is checked again", cache("full"), { do: "wait", pause: 2000 }],
  ["a full disk of the state is checked again, too", state("full"), { do: "wait", pause: 2000 }],
  ["a disk that became read-only may recover", state("io"), { do: "wait", pause: 2000 }],
  ["a reader of the cache closes it", cache("busy"), { do: "wait", pause: 2000 }],
  ["another agent keeps the folder that it uses", state("busy"), { do: "end" }],
  ["a newer version's file is left to a person", cache("newer"), { do: "end" }],
  [
    "a folder that cannot be created is a problem of the configuration",
    new StorageError("io", { file: "/s", disposable: false, isWrongPath: true }),
    { do: "end" },
  ],
  ["an unusable configuration is a problem of the configuration, too", new ConfigError(["no"]), { do: "end" }],
  ["an unexpected error ends the process", new Error("?"), { do: "end" }],
])("%s", (_, error, next) => {
  expect(afterFailure(error, [], start)).toEqual(next);
});

test("a disk that damages three files within an hour does not get a fourth file until an hour later", () => {
  const before = [at(0, cache("damaged")), at(10, state("damaged")), at(20, cache("damaged"))];
  expect(afterFailure(cache("damaged"), before.slice(0, 2), shifted(start, 30 * 60_000))).toMatchObject({
    do: "again",
  });
  expect(afterFailure(cache("damaged"), before, shifted(start, 59 * 60_000))).toEqual({ do: "end" });
  expect(afterFailure(cache("damaged"), before, shifted(start, 61 * 60_000))).toMatchObject({ do: "again" });
});

test("a disk that stays full is checked less and less often, down to once a minute", () => {
  const failures: FailedRun[] = [];
  const pauses = Array.from({ length: 8 }, () => {
    const next = afterFailure(cache("full"), failures, start);
    failures.push(at(0, cache("full")));
    return next.do === "wait" ? next.pause / 1000 : next;
  });
  expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60, 60]);
  expect(afterFailure(cache("full"), failures, shifted(start, 2 * 3_600_000))).toEqual({ do: "wait", pause: 2000 });
});

test("restores of the API server are no damage: they never end the process, but many within an hour are slowed down", () => {
  const restored = new ServerRestoredError("the store went back");
  const failures: FailedRun[] = [at(0, cache("damaged")), at(1, cache("damaged")), at(2, cache("damaged"))];
  const pauses = Array.from({ length: 10 }, (_, minute) => {
    const next = afterFailure(restored, failures, shifted(start, (3 + minute) * 60_000));
    expect(next).toMatchObject({ do: "again", rebuild: true });
    failures.push(at(3 + minute, restored));
    return next.do === "again" ? next.pause : undefined;
  });
  expect(pauses).toEqual([undefined, undefined, undefined, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  const restores = failures.slice(3);
  expect(afterFailure(restored, restores, shifted(start, 80 * 60_000))).toEqual({ do: "again", rebuild: true });
  // Nor do they use up the attempts to mend a damaged file.
  expect(afterFailure(cache("damaged"), restores, shifted(start, 13 * 60_000))).toEqual({ do: "again", rebuild: true });
});
