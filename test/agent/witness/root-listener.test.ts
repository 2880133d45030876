import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { nextTurn, SystemClock } from "../../../agent/base/clock.ts";
import { readLines } from "../../../agent/board/read-lines.ts";
import type { AskKubelet } from "../../../agent/witness/kubelet-health.ts";
import { ofRoot } from "../../../agent/witness/root-listener.ts";
import { FakeClock, millis } from "../../support/fake-clock.ts";

const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (local: string, user: number, state = "0A"): string =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${String(user).padStart(5)}        0 12345 1 0 100 0 0 10 0\n`;
const loopback = "0100007F:2808";
const wildcard6 = "00000000000000000000000000000000:2808";
const mapped = "0000000000000000FFFF00000100007F:2808";

type Tables = Readonly<Record<string, string>>;

/** Reads a table in pieces of some lines. */
const reader = (tables: () => Tables) =>
  async function* (file: string): AsyncGenerator<readonly string[], void> {
    const table = tables()[file];
    if (table === undefined) throw new Error(`${file} does not exist`);
    const lines = table.split("\n");
    for (let at = 0; at < lines.length; at += 3) yield lines.slice(at, at + 3);
  };

/** The answer that counts, of a listener that answers "ok", and how often it was asked. */
async function answerWith(tables: Tables): Promise<readonly [string, number]> {
  let asked = 0;
  const ask = async (): Promise<"ok"> => {
    asked++;
    return "ok";
  };
  return [
    await ofRoot(
      ask,
      new FakeClock(),
      reader(() => tables),
    )(),
    asked,
  ];
}

test.each([
  ["root's, on loopback", { "/proc/net/tcp": head + row(loopback, 0) }],
  ["root's, on all addresses", { "/proc/net/tcp6": head + row(wildcard6, 0) }],
  ["of an owner that cannot be read", {}],
  [
    "root's, while others use other ports and addresses",
    {
      "/proc/net/tcp": head + row("0100007F:1F90", 1000) + row("0A00000A:2808", 1000) + row(loopback, 0),
    },
  ],
  [
    "root's, beside another user's for IPv6",
    { "/proc/net/tcp": head + row(loopback, 0), "/proc/net/tcp6": head + row(wildcard6, 1000) },
  ],
  [
    "root's, with another user's connection to it",
    {
      "/proc/net/tcp": head + row(loopback, 0) + row(loopback, 1000, "01"),
    },
  ],
])("a listener on the kubelet's port counts if it is %s", async (_, tables) => {
  expect(await answerWith(tables)).toEqual(["ok", 1]);
});

test.each([
  ["loopback", { "/proc/net/tcp": head + row(loopback, 1000) }],
  ["all addresses", { "/proc/net/tcp": head + row("00000000:2808", 65534) }],
  ["all IPv6 addresses", { "/proc/net/tcp6": head + row(wildcard6, 1000) }],
  ["loopback in the form of IPv6", { "/proc/net/tcp6": head + row(mapped, 1000) }],
  [
    "loopback, beside root's on all addresses",
    {
      "/proc/net/tcp": head + row("00000000:2808", 0) + row(loopback, 1000),
    },
  ],
])("a pod of another user that listens on %s is not taken for the kubelet, and not asked", async (_, tables) => {
  expect(await answerWith(tables)).toEqual(["silent", 0]);
});

test("while no process listens on the port, none is asked", async () => {
  expect(await answerWith({ "/proc/net/tcp": head })).toEqual(["silent", 0]);
});

test.each([
  ["takes the port while the kubelet is asked", { "/proc/net/tcp": head + row(loopback, 1000) }],
  ["answers in the kubelet's place, and closes the port", { "/proc/net/tcp": head }],
])("a listener that %s does not count", async (_, after) => {
  let tables: Tables = { "/proc/net/tcp": head + row(loopback, 0) };
  const ask = async (): Promise<"ok"> => {
    tables = after;
    return "ok";
  };
  expect(
    await ofRoot(
      ask,
      new FakeClock(),
      reader(() => tables),
    )(),
  ).toBe("silent");
});

const ok = async (): Promise<"ok"> => "ok";

test("the kernel's table names the owner of a real listener", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as AddressInfo;
    const isRoot = process.getuid?.() === 0;
    expect(await ofRoot(ok, new SystemClock(), readLines, port)()).toBe(isRoot ? "ok" : "silent");
  } finally {
    server.close();
  }
});

test("the kernel lists the listeners before all connections", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(client, "connect");
  try {
    const isListening: boolean[] = [];
    for await (const lines of readLines("/proc/net/tcp"))
      for (const [, state] of lines.flatMap((line) => [...line.matchAll(/^ *\d+: \S+ \S+ (\S\S) /g)]))
        isListening.push(state === "0A");
    expect(isListening).toContain(true);
    expect(isListening).toContain(false);
    expect(isListening.lastIndexOf(true)).toBeLessThan(isListening.indexOf(false));
  } finally {
    client.destroy();
    server.close();
  }
});

describe("a pod on the host's network that opens very many sockets", () => {
  test("does not make the board read its connections", async () => {
    let pieces = 0;
    const read = async function* (file: string): AsyncGenerator<readonly string[], void> {
      if (file !== "/proc/net/tcp") return;
      yield [head, row(loopback, 0)];
      for (; pieces < 1000; pieces++) yield [row("0100007F:1F90", 1000, "01")];
    };
    expect(await ofRoot(ok, new FakeClock(), read)()).toBe("ok");
    expect(pieces).toBe(0);
  });

  test("does not occupy the event loop", async () => {
    const folder = mkdtempSync(join(tmpdir(), "siteward-sockets-"));
    try {
      const table = join(folder, "tcp");
      writeFileSync(table, head + row("0100007F:1F90", 1000).repeat(50_000) + row(loopback, 0));
      const check = ofRoot(ok, new FakeClock(), (file) => readLines(file === "/proc/net/tcp" ? table : "/nowhere"));
      let answer = "";
      let longest = Number.POSITIVE_INFINITY;
      for (let run = 0; run < 3 && longest > 10; run++)
        longest = Math.min(
          longest,
          await longestTurn(async () => {
            answer = await check();
          }),
        );
      expect(answer).toBe("ok");
      expect(longest).toBeLessThan(50);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  /** Tables that take long to read: after the first piece, reading waits for `more`. */
  class SlowTables {
    readonly clock = new FakeClock();
    owner: number | undefined = 0;
    isSlow = false;
    opened = 0;
    more = Promise.withResolvers<void>();
    readonly ask: AskKubelet = ofRoot(ok, this.clock, (file) => this.#read(file));

    async answer(): Promise<string> {
      let answer = "";
      void this.ask().then((one) => {
        answer = one;
      });
      await this.clock.until(() => answer !== "", "4s");
      return answer;
    }

    async *#read(file: string): AsyncGenerator<readonly string[], void> {
      if (file !== "/proc/net/tcp") return;
      this.opened++;
      yield [head];
      if (this.isSlow) await this.more.promise;
      if (this.owner !== undefined) yield [row(loopback, this.owner)];
    }
  }

  test("does not make a running kubelet look dead", async () => {
    const tables = new SlowTables();
    expect(await tables.answer()).toBe("ok");
    tables.isSlow = true;
    for (let question = 0; question < 10; question++) expect(await tables.answer()).toBe("ok");
  });

  test("takes the place of a dead kubelet only until the table is read", async () => {
    const tables = new SlowTables();
    expect(await tables.answer()).toBe("ok");
    tables.isSlow = true;
    tables.owner = 1000;
    expect(await tables.answer()).toBe("ok");
    tables.more.resolve();
    await tables.clock.advance(1);
    tables.more = Promise.withResolvers();
    for (let question = 0; question < 10; question++) expect(await tables.answer()).toBe("silent");
  });

  test("is not believed before the table has been read once", async () => {
    const tables = new SlowTables();
    tables.isSlow = true;
    tables.owner = 1000;
    expect(await tables.answer()).toBe("silent");
  });

  test("causes no more than one reading at a time", async () => {
    const tables = new SlowTables();
    tables.isSlow = true;
    for (let question = 0; question < 10; question++) await tables.answer();
    expect(tables.opened).toBe(1);
    tables.more.resolve();
    await tables.clock.advance(1);
    expect(await tables.answer()).toBe("ok");
  });

  test.each([
    ["0.1s", [2, 4, 6]],
    ["0.2s", [1, 1, 3]],
  ])("makes the board rest if reading takes longer than 0.1 s: %s", async (length, readings) => {
    const tables = new SlowTables();
    tables.isSlow = true;
    tables.clock.after(millis(length), () => tables.more.resolve());
    const opened: number[] = [];
    for (const pause of ["1.7s", "0.2s", 0]) {
      expect(await tables.answer()).toBe("ok");
      opened.push(tables.opened);
      await tables.clock.advance(pause);
    }
    expect(opened).toEqual(readings);
  });

  test("is not believed for more than a minute if the agent is stopped while it reads", async () => {
    const tables = new SlowTables();
    tables.isSlow = true;
    await tables.answer();
    await tables.clock.advance("1h");
    tables.more.resolve();
    await tables.clock.advance(1);
    expect(await tables.answer()).toBe("ok");
    tables.owner = 1000;
    await tables.clock.advance("59s");
    expect(await tables.answer()).toBe("ok");
    await tables.clock.advance("1s");
    expect(await tables.answer()).toBe("silent");
  });

  test("is not believed if the table has no end", async () => {
    const rows = Array.from({ length: 1000 }, () => row("0100007F:1F90", 1000));
    let isRead = true;
    const read = async function* (file: string): AsyncGenerator<readonly string[], void> {
      yield [row(loopback, 0)];
      try {
        while (file === "/proc/net/tcp") yield rows;
      } finally {
        isRead = false;
      }
    };
    expect(await ofRoot(ok, new FakeClock(), read)()).toBe("silent");
    expect(isRead).toBe(false);
  });
});

/** The longest turn of the event loop during some work, in milliseconds of this thread's CPU time. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  const used = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let isOver = false;
  const done = work().finally(() => {
    isOver = true;
  });
  let longest = 0;
  for (let before = used(); !isOver; ) {
    await nextTurn();
    const now = used();
    longest = Math.max(longest, now - before);
    before = now;
  }
  await done;
  return longest;
}
