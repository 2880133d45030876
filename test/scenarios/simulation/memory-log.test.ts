import { expect, test } from "vitest";
import { Database } from "../../../storage/database/database.ts";
import { RevisionLog, siteMigrations } from "../../../storage/revision-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { fastPragmas } from "./board-storage.ts";
import { MemoryLog } from "./memory-log.ts";

const open = (): Database => Database.open({ file: ":memory:", migrations: siteMigrations, pragmas: fastPragmas });

test.each([1, 2, 3])("the log of a simulated site returns the same as that of a real site: seed %i", (seed) => {
  const random = new SeededRandom(seed);
  const [memory, real] = [new MemoryLog(open()), new RevisionLog(open())];
  const both = <T>(ask: (log: RevisionLog) => T): T => {
    const answer = ask(memory);
    const without = (value: unknown): unknown =>
      JSON.parse(
        JSON.stringify(value ?? null, (name, inner) => (name === "previous" || name === "deleted" ? undefined : inner)),
      );
    expect(without(answer)).toEqual(without(ask(real)));
    return answer;
  };
  for (let step = 0; step < 600; step++) {
    const key = `${["nodes", "pods/default", "pods/kube-system"][random.integer(3)]}/${random.integer(6)}`;
    const found = both((log) => log.get(key));
    const revision = random.integer(10) === 0 ? random.integer(step + 1) : (found?.revision ?? 0);
    const value = (at: number): string => `${key} at ${at}`;
    const act = random.integer(12);
    if (act < 3) both((log) => log.create(key, value));
    else if (act < 9) both((log) => log.update(key, revision, value));
    else if (act < 11) both((log) => log.remove(key, revision, value));
    else if (random.integer(20) === 0) both((log) => log.compact(log.revision - 30, 50));
    const range = [
      { from: "nodes/", to: "nodes0" },
      { from: "pods/default/", to: "pods/default0" },
      { from: "", to: "z" },
    ];
    const within = range[random.integer(3)] ?? { from: "", to: "z" };
    const compacted = both((log) => log.compacted);
    const at = compacted + random.integer(both((log) => log.revision) - compacted + 1);
    both((log) => log.page(within, at, 4));
    both((log) => log.count(within, at));
    both((log) => log.after(at, within, 10).map(({ deleted, ...change }) => ({ ...change, ended: deleted })));
  }
});
