import { expect, test } from "vitest";
import { Listeners } from "../../../agent/informer/listeners.ts";
import { StorageError } from "../../../storage/errors.ts";
import { RecordingLog } from "../../support/recording-log.ts";

const changes = [{ key: "pi-1", before: undefined, after: "Node pi-1" }];

test("a listener that fails is named in the log, and the others are notified", () => {
  const log = new RecordingLog();
  const listeners = new Listeners<string>(log);
  const notified: string[] = [];
  listeners.add(() => {
    throw new Error("a rule is wrong");
  });
  listeners.add((all) => notified.push(...all.map(({ key }) => key)));
  listeners.notify(changes);
  expect(notified).toEqual(["pi-1"]);
  expect(log.said("error")).toEqual(["a listener failed"]);
});

test("a cache that proves damaged during a notification is not the listener's failure: all are notified, and the error is rethrown", () => {
  const listeners = new Listeners<string>(new RecordingLog());
  const notified: string[] = [];
  const damaged = new StorageError("damaged", { file: "cache.db" });
  listeners.add(() => {
    throw damaged;
  });
  listeners.add((all) => notified.push(...all.map(({ key }) => key)));
  expect(() => listeners.notify(changes)).toThrow(damaged);
  expect(notified).toEqual(["pi-1"]);
});
