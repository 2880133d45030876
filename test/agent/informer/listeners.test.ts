import { expect, test } from "vitest";
import { Listeners } from "../../../agent/informer/listeners.ts";
import { StorageError } from "../../../storage/errors.ts";
import { RecordingLog } from "../../support/recording-log.ts";

const changes = [{ key: "pi-1", before: undefined, after: "Node pi-1" }];

test("a listener that fails is named in the log, and the others hear", () => {
  const log = new RecordingLog();
  const listeners = new Listeners<string>(log);
  const heard: string[] = [];
  listeners.add(() => {
    throw new Error("a rule is wrong");
  });
  listeners.add((all) => heard.push(...all.map(({ key }) => key)));
  listeners.tell(changes);
  expect(heard).toEqual(["pi-1"]);
  expect(log.said("error")).toEqual(["a listener failed"]);
});

test("a cache that proves damaged while somebody listens is no failure of the listener: all hear, and it is thrown on", () => {
  const listeners = new Listeners<string>(new RecordingLog());
  const heard: string[] = [];
  const damaged = new StorageError("damaged", { file: "cache.db" });
  listeners.add(() => {
    throw damaged;
  });
  listeners.add((all) => heard.push(...all.map(({ key }) => key)));
  expect(() => listeners.tell(changes)).toThrow(damaged);
  expect(heard).toEqual(["pi-1"]);
});
