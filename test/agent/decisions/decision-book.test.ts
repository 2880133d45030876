import { describe, expect, test } from "vitest";
import { type DecidedAct, DecisionBook } from "../../../agent/decisions/decision-book.ts";
import type { DecisionRecord } from "../../../agent/decisions/decision-record.ts";
import type { GateFacts, Restraint, VerdictName } from "../../../agent/decisions/grounds.ts";
import { headlineOf } from "../../../agent/decisions/sentences.ts";
import { Database } from "../../../storage/database/database.ts";
import { DecisionLog } from "../../../storage/decision-log.ts";
import { StorageError } from "../../../storage/errors.ts";
import { stateMigrations } from "../../../storage/schema.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { statePragmas } from "../../support/state-pragmas.ts";

function setUp() {
  const clock = new FakeClock();
  const said = new RecordingLog();
  const log = new DecisionLog(Database.open({ file: ":memory:", migrations: stateMigrations, pragmas: statePragmas }), {
    rows: 500,
    bytes: 256 * 1024,
  });
  const book = new DecisionBook({ clock, random: new SeededRandom(), log: said }, { log, board: "pi-1", bootId: "b1" });
  const stop = new AbortController();
  const running = book.run(stop.signal);
  const records = () => log.newest(undefined, 1000).map((text) => JSON.parse(text) as DecisionRecord);
  const writes: number[] = [];
  const write = log.write.bind(log);
  log.write = (entries, open) => {
    writes.push(entries.length);
    return write(entries, open);
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { clock, said, log, book, records, writes, end };
}

test("a mark is not logged as a harmful act, because the board's next heartbeat reverses it", async () => {
  const { said, book, end } = setUp();
  const on = { kind: "Node", name: "pi-3", uid: "uid-pi-3" };
  const because = { kind: "silence", verdict: "unproven", rule: "" } as const;
  const mark = {
    on,
    by: "node-lifecycle",
    term: 3,
    grounds: { act: "board-marked", board: "pi-3", because, gate: {} },
  } as const;
  book.acted(mark, new Error("conflict"));
  book.acted(mark);
  expect(said.said()).toEqual(["board not marked as silent", "board marked as silent"]);
  await end();
});

const eviction = (name: string, more: Partial<DecidedAct> = {}): DecidedAct => ({
  on: { kind: "Pod", namespace: "default", name, uid: `uid-${name}` },
  grounds: {
    act: "pod-evicted",
    board: "pi-3",
    because: { kind: "taints", taints: ["node.kubernetes.io/unreachable"], toleratedMs: 300_000, ranMs: 300_004 },
    gate: { policy: "evidence", ready: "Unknown" },
  },
  by: "taint-eviction",
  term: 3,
  ...more,
});

test("an act that is done is logged immediately, and stored within seconds with the facts that it rests on", async () => {
  const { clock, said, book, records, end } = setUp();
  book.acted(eviction("web"));
  expect(said.lines).toMatchObject([
    { level: "info", message: "harmful act done", fields: { act: "pod-evicted", object: "pod/default/web", term: 3 } },
  ]);
  await clock.advance("5s");
  expect(records()).toMatchObject([
    {
      v: 1,
      act: "pod-evicted",
      on: { kind: "Pod", namespace: "default", name: "web" },
      board: "pi-3",
      by: "taint-eviction",
      leader: "pi-1",
      term: 3,
      because: { kind: "taints", toleratedMs: 300_000 },
      state: "done",
      first: { boot: "b1" },
      failures: 0,
    },
  ]);
  await end();
});

test("acts within a few seconds are stored in one write, and nothing is written without acts", async () => {
  const { clock, book, writes, end } = setUp();
  await clock.advance("24h");
  expect(writes).toEqual([]);
  for (let n = 0; n < 50; n++) book.acted(eviction(`web-${n}`));
  await clock.advance("24h");
  expect(writes).toEqual([50]);
  await end();
});

test("an act that fails a hundred times and then succeeds is one record and two lines", async () => {
  const { clock, said, book, records, writes, end } = setUp();
  for (let n = 0; n < 100; n++) {
    book.acted(eviction("web"), new Error(`no answer ${n}`));
    await clock.advance("10s");
  }
  expect(records()).toMatchObject([{ state: "failed", error: "no answer 0", failures: 1 }]);
  book.acted(eviction("web"));
  await clock.advance("10s");
  expect(records()).toMatchObject([{ state: "done", error: "no answer 99", failures: 100 }]);
  expect(writes).toEqual([1, 1]);
  expect(said.said()).toEqual(["harmful act failed", "harmful act done"]);
  await end();
});

test("a reader gets the current number of an act's failures", async () => {
  const { clock, book, writes, end } = setUp();
  const failures = () => book.newest(undefined, 10).map((text) => (JSON.parse(text) as DecisionRecord).failures);
  for (let n = 0; n < 7; n++) {
    book.acted(eviction("web"), new Error("no answer"));
    await clock.advance("10s");
  }
  expect([failures(), failures()]).toEqual([[7], [7]]);
  expect(writes).toEqual([1, 1]);
  book.acted(eviction("web"), new Error("no answer"));
  book.acted(eviction("web", { term: 4 }), new Error("no answer"));
  expect(failures()).toEqual([8, 1]);
  await end();
});

test("records are stored in the order in which they last changed", async () => {
  const { clock, book, records, end } = setUp();
  const names = () => records().map(({ on, state }) => `${on.name} ${state}`);
  book.acted(eviction("web"), new Error("refused"));
  await clock.advance("10s");
  book.acted(eviction("api"), new Error("refused"));
  await clock.advance("1s");
  book.acted(eviction("db"));
  await clock.advance("1s");
  book.acted(eviction("web"));
  await clock.advance("1s");
  book.acted(eviction("api"));
  await clock.advance("10s");
  expect(names()).toEqual(["db done", "web done", "api done"]);
  await end();
});

test("an act that failed and was not tried for an hour becomes a new story when it is tried again", async () => {
  const { clock, book, records, end } = setUp();
  for (let n = 0; n < 20; n++) {
    book.acted(eviction("web"), new Error("refused"));
    await clock.advance("10m");
  }
  await clock.advance("1h");
  book.acted(eviction("web"));
  await clock.advance("10s");
  expect(records()).toMatchObject([
    { state: "failed", failures: 20 },
    { state: "done", failures: 0 },
  ]);
  await end();
});

test("a full disk does not prevent reading, but ends the loop that stores", async () => {
  const { clock, book, log, end } = setUp();
  log.write([{ id: undefined, subject: "node/pi-3", board: "pi-3", text: "{}" }]);
  const full = new StorageError("full", { file: "state.db", disposable: false });
  log.write = () => {
    throw full;
  };
  book.acted(eviction("web"));
  expect(book.newest(undefined, 10)).toEqual(["{}"]);
  expect(() => book.flush()).toThrow(full);
  const ended = expect(end()).rejects.toThrow(full);
  await clock.advance("10s");
  await ended;
});

test("the same act in a later term, or a second time, is a separate story", async () => {
  const { clock, book, records, end } = setUp();
  book.acted(eviction("web"), new Error("refused"));
  book.acted(eviction("web", { term: 4 }));
  book.acted(eviction("web", { term: 4 }));
  await clock.advance("10s");
  expect(records().map(({ term, state }) => [term, state])).toEqual([
    [3, "failed"],
    [4, "done"],
    [4, "done"],
  ]);
  await end();
});

test("a database that temporarily cannot be written is reported once, and the newest records are stored later", async () => {
  const { clock, said, log, book, records, end } = setUp();
  const { write } = log;
  log.write = () => {
    throw new StorageError("busy", { file: "state.db", cause: new Error("locked"), disposable: false });
  };
  for (let n = 0; n < 400; n++) {
    book.acted(eviction(`web-${n}`));
    await clock.advance("1s");
  }
  expect(said.said("warn")).toEqual(["decision records not stored"]);
  expect(records()).toEqual([]);
  log.write = write;
  await clock.advance("2m");
  expect(records().map(({ on }) => on.name)).toEqual(Array.from({ length: 256 }, (_, n) => `web-${n + 144}`));
  await end();
});

test("a namespace with a flood of acts loses its own oldest records only, and the records say how many are missing", async () => {
  const { clock, book, records, end } = setUp();
  const of = (namespace: string, name: string): DecidedAct => {
    const act = eviction(name);
    return { ...act, on: { ...act.on, namespace, uid: `uid-${namespace}-${name}` } };
  };
  const mark = { ...eviction("pi-3"), on: { kind: "Node", name: "pi-3", uid: "uid-pi-3" } };
  book.acted(mark);
  book.acted(of("shop", "web"));
  for (let n = 0; n < 1000; n++) book.seen(of("batch", `job-${n}`));
  book.acted(of("shop", "api"));
  await clock.advance("10s");
  const [stored, batch] = [records(), records().filter(({ on }) => on.namespace === "batch")];
  expect(stored.filter(({ on }) => on.namespace !== "batch").map(({ on }) => on.name)).toEqual(["pi-3", "web", "api"]);
  expect(batch.map(({ on }) => on.name)).toEqual(Array.from({ length: 253 }, (_, n) => `job-${n + 747}`));
  expect(new Set(stored.map(({ unrecorded }) => unrecorded))).toEqual(new Set([747]));
  book.acted({ ...of("shop", "db"), term: 4 });
  await clock.advance("10s");
  expect(records().at(-1)?.unrecorded).toBeUndefined();
  await end();
});

describe("an act that is held back", () => {
  const key = { by: "taint-eviction", key: "default/web", term: 3 };
  const { by: _, term: __, ...act } = eviction("web");
  const frozen = { ...act, restraint: { why: "freeze", scope: "site", by: "ops:jo", leftMs: 60_000 } } as const;
  const quarantined = { ...act, restraint: { why: "quarantine" } } as const;

  test("for an hour is one record and one write, with each reason once", async () => {
    const { clock, said, book, records, writes, end } = setUp();
    for (let n = 0; n < 720; n++) {
      book.due(key, [n % 2 ? frozen : quarantined]);
      await clock.advance("5s");
    }
    expect(records()).toMatchObject([
      { state: "held", restraints: [{ why: "quarantine" }, { why: "freeze", by: "ops:jo", leftMs: 60_000 }] },
    ]);
    expect(writes.length).toBeLessThanOrEqual(2);
    expect(said.said()).toEqual(["harmful act held"]);
    await end();
  });

  test("has the facts of the decision that met its latest reason, and later those of the act", async () => {
    const { clock, book, records, end } = setUp();
    const by = (ranMs: number, gate: GateFacts) => ({
      ...act.grounds,
      because: { kind: "taints", taints: [], toleratedMs: 0, ranMs } as const,
      gate,
    });
    const facts = async () => {
      await clock.advance("5s");
      return records().map(({ because, gate, restraints }) => [
        "ranMs" in because && because.ranMs,
        gate,
        restraints.at(-1)?.why,
      ]);
    };
    book.due(key, [{ ...quarantined, grounds: by(1, { quarantine: true }) }]);
    book.due(key, [{ ...quarantined, grounds: by(2, { quarantine: true }) }]);
    expect(await facts()).toEqual([[1, { quarantine: true }, "quarantine"]]);
    book.due(key, [{ ...frozen, grounds: by(3, { frozenMs: 9 }) }]);
    expect(await facts()).toEqual([[3, { frozenMs: 9 }, "freeze"]]);
    book.due(key, [{ ...quarantined, grounds: by(4, { quarantine: true }) }]);
    expect(await facts()).toEqual([[3, { frozenMs: 9 }, "freeze"]]);
    book.acted({ ...eviction("web"), grounds: by(5, {}) }, new Error("no answer"));
    book.due(key, [{ ...quarantined, grounds: by(6, { quarantine: true }) }]);
    expect(await facts()).toEqual([[6, { quarantine: true }, "quarantine"]]);
    book.acted({ ...eviction("web"), grounds: by(7, {}) });
    expect(await facts()).toEqual([[7, {}, "quarantine"]]);
    await end();
  });

  test("keeps its record when it is done, and lapses when it is no longer due", async () => {
    const { clock, said, book, records, end } = setUp();
    book.due(key, [frozen]);
    book.due({ ...key, key: "default/other" }, [{ ...frozen, on: { ...frozen.on, name: "other", uid: "other" } }]);
    await clock.advance("1m");
    book.acted(eviction("web"));
    book.due(key, []);
    book.due({ ...key, key: "default/other" }, []);
    await clock.advance("1m");
    expect(records()).toMatchObject([
      { on: { name: "web" }, state: "done", restraints: [{ why: "freeze" }] },
      { on: { name: "other" }, state: "lapsed", restraints: [{ why: "freeze" }] },
    ]);
    expect(said.said()).toEqual([
      "harmful act held",
      "harmful act held",
      "harmful act done",
      "harmful act no longer due",
    ]);
    await end();
  });

  test("is counted by reason: those held now, and the total", async () => {
    const { book, end } = setUp();
    book.due(key, [quarantined]);
    book.due(key, [frozen]);
    expect(book.heldCounts()).toEqual([
      { why: "quarantine", now: 0, total: 1 },
      { why: "freeze", now: 1, total: 1 },
    ]);
    book.due(key, []);
    book.due(key, [frozen]);
    book.acted(eviction("web"));
    expect(book.heldCounts()).toEqual([
      { why: "quarantine", now: 0, total: 1 },
      { why: "freeze", now: 0, total: 2 },
    ]);
    await end();
  });

  test("and then waits for its turn remains the same story, and no longer counts as held", async () => {
    const { clock, said, book, records, end } = setUp();
    const waiting = { ...act, restraint: undefined };
    book.due(key, [waiting]);
    expect(said.said()).toEqual([]);
    book.due(key, [frozen]);
    book.due(key, [waiting]);
    expect(book.heldCounts()).toEqual([{ why: "freeze", now: 0, total: 1 }]);
    await clock.advance("1m");
    book.acted(eviction("web"));
    book.due(key, [waiting]);
    await clock.advance("1m");
    expect(records()).toMatchObject([{ state: "done", restraints: [{ why: "freeze" }] }]);
    expect(said.said()).toEqual(["harmful act held", "harmful act done"]);
    await end();
  });

  test("is not forgotten when a write of the previous term ends late", async () => {
    const { clock, book, records, end } = setUp();
    book.due({ ...key, term: 4 }, [frozen]);
    book.acted(eviction("other"));
    book.due({ ...key, term: 4 }, []);
    await clock.advance("1m");
    expect(records().map(({ on, term, state }) => [on.name, term, state])).toEqual([
      ["web", 4, "lapsed"],
      ["other", 3, "done"],
    ]);
    await end();
  });

  test("stays held in the record when the term ends, because the next leader is unknown", async () => {
    const { clock, book, records, end } = setUp();
    book.due(key, [frozen]);
    book.due({ ...key, term: 4 }, []);
    await clock.advance("1m");
    expect(records()).toMatchObject([{ term: 3, state: "held" }]);
    await end();
  });

  test("is recorded and counted even after hundreds of other acts failed", async () => {
    const { clock, said, book, records, end } = setUp();
    for (let n = 0; n < 256; n++) book.acted(eviction(`gone-${n}`), new Error("timeout"));
    book.acted(eviction("one-more"), new Error("timeout"));
    expect(said.lines).toHaveLength(256);
    book.due(key, [frozen]);
    expect(book.heldCounts()).toEqual([{ why: "freeze", now: 1, total: 1 }]);
    expect(said.said().at(-1)).toBe("harmful act held");
    await clock.advance("2h");
    book.acted(eviction("one-more"), new Error("timeout"));
    await clock.advance("10s");
    expect(records().slice(-2)).toMatchObject([
      { on: { name: "web" }, state: "held" },
      { on: { name: "one-more" }, state: "failed" },
    ]);
    await end();
  });

  test("no longer counts as held while its attempts fail", async () => {
    const { book, end } = setUp();
    book.due(key, [frozen]);
    book.acted(eviction("web"), new Error("timeout"));
    book.due(key, []);
    expect(book.heldCounts()).toEqual([{ why: "freeze", now: 0, total: 1 }]);
    await end();
  });

  test("for several reasons is stored only once", async () => {
    const { clock, book, records, end } = setUp();
    book.due(key, [frozen]);
    for (let n = 0; n < 255; n++) book.acted(eviction(`web-${n}`));
    book.due(key, [quarantined]);
    book.due(key, [{ ...act, restraint: { why: "not-live" } }]);
    await clock.advance("10s");
    expect(records()).toHaveLength(256);
    await end();
  });

  test("does not fill the memory together with a thousand others: 256 stories are open at most", async () => {
    const { clock, book, records, end } = setUp();
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 1000; n++) {
        const one = { ...frozen, on: { ...frozen.on, name: `web-${n}`, uid: `uid-${n}` } };
        book.due({ ...key, key: `default/web-${n}` }, [one]);
      }
      await clock.advance("1m");
    }
    expect(records()).toHaveLength(256);
    await end();
  });
});

test("pods of a board that stay for different reasons are different groups, and another reason is another line of the story", async () => {
  const { book, records, end } = setUp();
  const stays = (name: string, reason: "StatefulSet" | "no board" | "volume") => {
    const { on, grounds } = eviction(name);
    return { on, grounds, restraint: { why: "no-gain", reason } } as const;
  };
  const pass = { by: "taint-eviction", key: "all", term: 3 };
  book.due(pass, [stays("a", "StatefulSet"), stays("b", "no board"), stays("c", "StatefulSet")]);
  book.due(pass, [stays("a", "StatefulSet"), stays("b", "volume"), stays("c", "StatefulSet")]);
  expect(book.heldGroups(3)).toMatchObject([
    { restraint: { why: "no-gain", reason: "StatefulSet" }, count: 2 },
    { restraint: { why: "no-gain", reason: "volume" }, count: 1 },
  ]);
  expect(book.heldCounts()).toEqual([{ why: "no-gain", now: 3, total: 3 }]);
  await end();
  const reasons = records().map(({ restraints }) => restraints.map((one) => (one.why === "no-gain" ? one.reason : "")));
  expect(reasons).toEqual([["StatefulSet"], ["no board", "volume"], ["StatefulSet"]]);
});

test("a hold names the verdict and the reason that apply now, and a change back and forth is not stored each time", async () => {
  const { clock, book, writes, end } = setUp();
  const pass = { by: "taint-eviction", key: "default/web", term: 3 };
  const verdict = (name: VerdictName): Restraint => ({ why: "verdict", verdict: name, rule: `rule of ${name}` });
  const held = async (restraint: Restraint): Promise<string> => {
    const { on, grounds } = eviction("web");
    book.due(pass, [{ on, grounds, restraint }]);
    await clock.advance("10s");
    const [record] = book.newest(undefined, 1).map((text) => JSON.parse(text) as DecisionRecord);
    return record ? headlineOf(record, () => "12:00").replace(/^.* by pi-1 [(]term 3[)]: /, "") : "";
  };
  expect(await held(verdict("alive"))).toBe("rule of alive");
  expect(await held(verdict("cut-off"))).toBe("the verdict was cut-off: rule of cut-off");
  expect(await held({ why: "quarantine" })).toContain("after an outage");
  expect(await held(verdict("cut-off"))).toBe("the verdict was cut-off: rule of cut-off");
  expect(book.heldGroups(3)).toMatchObject([{ restraint: { verdict: "cut-off" }, count: 1 }]);
  const before = writes.length;
  for (let times = 0; times < 50; times++) {
    const { on, grounds } = eviction("web");
    const restraint = times % 2 === 0 ? ({ why: "quarantine" } as const) : verdict("cut-off");
    book.due(pass, [{ on, grounds, restraint }]);
    await clock.advance("10s");
  }
  expect(writes.length).toBe(before);
  await end();
});

test("the acts that are held back now are grouped by board, act and reason, and named only in part", async () => {
  const { book, end } = setUp();
  const due = (names: readonly string[], board: string, why: "quarantine" | "not-live") =>
    names.map((name) => {
      const { on, grounds } = eviction(name);
      return { on, grounds: { ...grounds, board }, restraint: { why } };
    });
  const seven = ["a", "b", "c", "d", "e", "f", "g"];
  const pass = { by: "taint-eviction", key: "all", term: 3 };
  book.due(pass, [...due(seven, "pi-3", "quarantine"), ...due(["x"], "pi-4", "not-live")]);
  expect(book.heldGroups(3)).toMatchObject([
    {
      board: "pi-3",
      act: "pod-evicted",
      restraint: { why: "quarantine" },
      count: 7,
      some: ["a", "b", "c", "d", "e"].map((name) => `pod/default/${name}`),
    },
    { board: "pi-4", restraint: { why: "not-live" }, count: 1, some: ["pod/default/x"] },
  ]);
  expect(book.heldGroups(4)).toEqual([]);
  book.acted(eviction("a"));
  expect(book.heldGroups(3)[0]).toMatchObject({ count: 6 });
  await end();
});

describe("the book of controllers in shadow mode", () => {
  function beside() {
    const parts = setUp();
    const { clock, said, log } = parts;
    const ambient = { clock, random: new SeededRandom(), log: said };
    const shadowed = new DecisionBook(ambient, { log, board: "pi-1", bootId: "b1", pretence: "shadow" });
    const acting = new DecisionBook(ambient, { log, board: "pi-1", bootId: "b1", shadow: shadowed });
    return { ...parts, shadowed, acting };
  }

  test("says of its records that nothing was done, in the log too, and counts nothing for the other book", async () => {
    const { acting, shadowed, said, records, end } = beside();
    shadowed.acted(eviction("web"));
    acting.acted(eviction("db"));
    shadowed.due({ by: "taint-eviction", key: "default/api", term: 3 }, [
      { ...eviction("api"), restraint: { why: "quarantine" } },
    ]);
    // The other book's readers also see what is not stored yet.
    acting.newest(undefined, 10);
    expect(records().map(({ shadow, on, state }) => [shadow, on.name, state])).toEqual([
      [undefined, "db", "done"],
      [true, "web", "done"],
      [true, "api", "held"],
    ]);
    expect(said.said()).toEqual(["shadow: act would have been done", "harmful act done", "shadow: act would be held"]);
    expect([acting.heldCounts(), acting.heldGroups(3)]).toEqual([[], []]);
    expect(acting.takeChanges()?.counts).toEqual([{ act: "pod-evicted", state: "done", count: 1 }]);
    await end();
  });

  test("counts the acts for which there was no room among the open stories, each once", async () => {
    const { shadowed, records, end } = beside();
    const web = (n: number, why: "quarantine" | "not-live") =>
      ({ ...eviction(`web-${n}`), restraint: { why } }) as const;
    const all = (count: number, why: "quarantine" | "not-live") => Array.from({ length: count }, (_, n) => web(n, why));
    const pass = { by: "taint-eviction", key: "all", term: 3 };
    const counted = () => {
      shadowed.newest(undefined, 1);
      return Math.max(...records().map(({ unrecorded = 0 }) => unrecorded));
    };
    shadowed.due(pass, all(256, "quarantine"));
    expect(counted()).toBe(0);
    shadowed.due(pass, all(300, "quarantine"));
    shadowed.due(pass, all(300, "quarantine"));
    expect(counted()).toBe(44);
    for (let times = 0; times < 2; times++) shadowed.acted(eviction("api"), new Error("too many"));
    expect(counted()).toBe(45);
    // It is recorded after all.
    shadowed.acted(eviction("api"));
    shadowed.flush();
    expect(records().at(-1)).toMatchObject({ on: { name: "api" }, unrecorded: 44 });
    await end();
  });

  test("still says how many records are missing when the term ended before they were stored", async () => {
    const { shadowed, records, end } = beside();
    for (let n = 0; n < 300; n++) shadowed.acted(eviction(`web-${n}`));
    shadowed.acted(eviction("api", { term: 4 }));
    shadowed.flush();
    expect(Math.max(...records().map(({ term, unrecorded = 0 }) => (term === 3 ? unrecorded : 0)))).toBe(44);
    await end();
  });

  test("records what another program did apart from the stories of what would be done", async () => {
    const { shadowed, said, records, end } = beside();
    const because = { kind: "seen", verdict: "lost", rule: "it does not answer" } as const;
    shadowed.due({ by: "taint-eviction", key: "default/web", term: 3 }, [
      { ...eviction("web"), restraint: { why: "quarantine" } },
    ]);
    const web = eviction("web");
    shadowed.seen({ ...web, by: "another program", grounds: { ...web.grounds, because, gate: {} } });
    shadowed.flush();
    expect(records().map(({ by, state, because: { kind }, gate }) => [by, state, kind, gate === undefined])).toEqual([
      ["taint-eviction", "held", "taints", false],
      ["another program", "done", "seen", true],
    ]);
    expect(said.said()).toEqual(["shadow: act would be held", "shadow: another program acted"]);
    await end();
  });
});
