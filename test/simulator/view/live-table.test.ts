import { expect, test } from "vitest";
import { terminalText } from "../../../agent/base/text/terminal-text.ts";
import { LiveTable, type TerminalTraits, tableLines } from "../../../simulator/view/live-table.ts";
import { type BoardPicture, lackOf, type SitePicture } from "../../../simulator/view/site-picture.ts";
import { changesBetween } from "../../../simulator/view/timeline.ts";

const wide: TerminalTraits = { columns: 120, rows: 40, unicode: true };

/** Without colour. */
const linesOf = (...table: Parameters<typeof tableLines>): readonly string[] =>
  tableLines(...table).map((line) => terminalText(line, false));

const board = (name: string, differing: Partial<BoardPicture> = {}): BoardPicture => ({
  name,
  zone: "zone-a",
  power: "on",
  link: "up",
  ready: "True",
  taints: [],
  cordoned: false,
  agent: "running",
  memory: { rss: 41_500_000, anonymous: 20_000_000 },
  report: { role: "standby", queued: 0, zones: [] },
  ...differing,
});

const site: SitePicture = {
  apiUp: true,
  leader: { board: "pi-1", term: 2 },
  zones: [{ name: "zone-a", boards: 2, ready: 1, state: "Normal" }],
  boards: [
    board("pi-1", { report: { role: "leader", queued: 4, zones: [] } }),
    board("pi-2", {
      ready: "Unknown",
      power: "off",
      taints: ["unreachable:NoExecute"],
      agent: "off",
      memory: undefined,
    }),
  ],
  pods: [
    {
      key: "default/web-1",
      uid: "1",
      workload: "web",
      daemon: undefined,
      board: "pi-1",
      phase: "Running",
      unplaced: false,
      ready: true,
      served: true,
      ending: false,
    },
    {
      key: "default/web-2",
      uid: "2",
      workload: "web",
      daemon: undefined,
      board: "pi-2",
      phase: "Running",
      unplaced: false,
      ready: false,
      served: false,
      ending: true,
    },
    {
      key: "default/web-3",
      uid: "3",
      workload: "web",
      daemon: undefined,
      board: undefined,
      phase: "Pending",
      unplaced: true,
      ready: false,
      served: false,
      ending: false,
    },
  ],
  daemons: [],
  services: [],
};

test("a board that the Lease names, but whose term has ended, is not shown as the leader", () => {
  const left = board("pi-1", { report: { role: "standby", queued: 0, zones: [] } });
  const lines = linesOf("siteward up", { ...site, boards: [left, ...site.boards.slice(1)] }, [], wide);
  expect(lines).toContainEqual(expect.stringMatching(/^pi-1 .* standby /));
  expect(lines).toContain("no leader; the Lease names pi-1, term 2; pods without a board: 1");
});

test("the table shows each board, the zones, the leader and the last messages", () => {
  expect(linesOf("siteward up", site, ["t=1.0s pi-2 NotReady"], wide).join("\n")).toBe(
    `\
siteward up

BOARD  ZONE    STATE                  ROLE    PODS            QUEUE  RAM    ANON   TAINTS
pi-1   zone-a  ● Ready                leader  1/1             4      42 MB  20 MB  -
pi-2   zone-a  ● NotReady, power off  -       0/0 +1 leaving  0      -      -      unreachable:NoExecute

zone-a: 1 of 2 ready, Normal
pi-1 leads, term 2; pods without a board: 1

t=1.0s pi-2 NotReady`,
  );
});

test.each([200, 80, 60, 40, 20, 5, 1])("no line is wider than a terminal of %i columns", (columns) => {
  const lines = linesOf("siteward up", site, ["t=1.0s pi-2 NotReady and much more to say"], { ...wide, columns });
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
});

test("a narrow terminal keeps the most important columns", () => {
  const [, , title] = linesOf("siteward up", site, [], { ...wide, columns: 40 });
  expect(title).toMatch(/^BOARD +STATE +ROLE/);
});

test("a terminal that supports only ASCII gets only ASCII, and control characters do not reach any terminal", () => {
  const odd = { ...site, boards: [board("pi-\u001b[31m", { zone: "größe" })] };
  const bytes = linesOf("siteward up", odd, ["…\u0007"], { ...wide, unicode: false }).join("");
  expect(bytes).toMatch(/^[\x20-\x7e]*$/);
  expect(linesOf("siteward up", odd, ["\u0007"], wide).join("")).not.toMatch(/\p{Cc}/u);
});

test.each([3, 12, 24])("a table of fifty boards fits a terminal of %i rows, boards with problems first", (rows) => {
  const many = Array.from({ length: 50 }, (_, index) => board(`pi-${index + 1}`));
  const boards = [...many, board("pi-51", { ready: "Unknown" })];
  const lines = linesOf("siteward up", { ...site, boards }, ["one", "two", "three"], { ...wide, rows });
  expect(lines.length).toBeLessThan(rows);
  if (rows > 3) expect(lines[3]).toMatch(/^pi-51 .*NotReady/);
  if (rows > 3) expect(lines.join("\n")).toMatch(/and \d+ more/);
});

const keyHelp = "up/down: board  c: cut its link  q: end";
const fourteen = Array.from({ length: 14 }, (_, index) => board(`pi-${index + 1}`));

test.each(fourteen.map(({ name }) => name))("%s is shown while the keys have an effect on it", (selected) => {
  for (const rows of [24, 16, 12, 10, 4, 3]) {
    const look = { ...wide, columns: 80, rows, keys: { help: keyHelp, selected } };
    const lines = linesOf("siteward up", { ...site, boards: fourteen }, ["news"], look);
    expect(lines.filter((line) => line.startsWith("> "))).toEqual([expect.stringMatching(`^> ${selected} `)]);
    expect(lines).toContain(keyHelp);
    expect(lines.length).toBeLessThan(rows);
  }
});

test("the first board is selected by default, and boards with problems are listed above it", () => {
  const boards = [...fourteen, board("pi-15", { ready: "Unknown" })];
  const keys = { help: keyHelp, selected: undefined };
  const lines = linesOf("siteward up", { ...site, boards }, [], { ...wide, rows: 14, keys });
  expect(lines[3]).toMatch(/^ {2}pi-15 .*NotReady/);
  expect(lines.some((line) => line.startsWith("> pi-1 "))).toBe(true);
});

test("no key is truncated if a line is too short for all of them", () => {
  const keys = { help: keyHelp, selected: undefined };
  const lines = linesOf("siteward up", site, [], { ...wide, columns: 30, keys });
  expect(lines).toContain("up/down: board");
  expect(lines).toContain("c: cut its link  q: end");
});

test("colour is used only on request", () => {
  const control = "\u001b[";
  const table = tableLines("x", site, [], wide);
  expect(terminalText(table, false)).not.toContain(control);
  expect(terminalText(table, true)).toContain(`${control}31m`);
});

test("drawing again overwrites the previous drawing", () => {
  const written: string[] = [];
  const table = new LiveTable({ write: (text) => written.push(terminalText(text, true)) });
  table.draw(["a", "b"]);
  table.draw(["c"]);
  expect(written[0]).not.toContain("A");
  expect(written[1]).toMatch(/\[2A.*c\n.*\[0J$/s);
});

test("lines report changes, and nothing is printed without a change", () => {
  const [first, second] = site.boards;
  if (!first || !second) throw new Error("two boards");
  const before: SitePicture = { ...site, leader: undefined, boards: [first, board("pi-2")], pods: [] };
  expect(changesBetween(before, site)).toEqual([
    "pi-1 leads, term 2",
    "pi-2 power off",
    "pi-2 NotReady",
    "pi-2 tainted unreachable:NoExecute",
    "default/web-1 Running on pi-1",
    "default/web-2 terminating on pi-2",
    "default/web-3 fits on no board",
  ]);
  expect(changesBetween(site, site)).toEqual([]);
  expect(changesBetween(site, before)).toEqual([
    "no leader",
    "pi-2 power on",
    "pi-2 Ready",
    "pi-2 no longer tainted unreachable:NoExecute",
    "default/web-1 deleted from pi-1",
    "default/web-2 deleted from pi-2",
    "default/web-3 deleted",
  ]);
});

test("a site is healthy once its boards are ready and none is suspected; a person's taint does not raise suspicion", () => {
  const lack = (taints: readonly string[]) => lackOf({ ...site, boards: [board("pi-1", { taints })], pods: [] }, 0);
  expect(lack([])).toEqual([]);
  expect(lack(["not-ready:NoSchedule"])).toEqual(["tainted as not ready: pi-1"]);
  expect(lack(["unschedulable:NoSchedule", "example.com/gpu:NoSchedule"])).toEqual([]);
});

test("daemons and services are shown, and reported when they change", () => {
  const daemon = { name: "monitor", boards: 3, ready: 2, updated: 1, rolled: false };
  const before: SitePicture = { ...site, daemons: [daemon], services: [{ name: "web", ready: 1 }] };
  const lines = linesOf("siteward up", before, [], wide);
  expect(lines).toContain("daemon monitor: 2 of 3 ready, 1 up to date");
  expect(lines).toContain("service web: leads to 1 pod");
  const after = { ...before, daemons: [{ ...daemon, rolled: true }], services: [{ name: "web", ready: 3 }] };
  expect(changesBetween(before, after)).toEqual([
    "service web leads to 3 pods",
    "daemon monitor is up to date on every board",
  ]);
  expect(changesBetween(after, after)).toEqual([]);
});
