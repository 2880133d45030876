import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { readBoard } from "../../../agent/board/sensors/read-board.ts";
import { BoardTree } from "../../support/board-tree.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const at = { mono: 1000, wall: 0 };
const boards = readdirSync(path.join(import.meta.dirname, "fixtures")).map((name) => name.replace(".tree", ""));

const nonsense: readonly string[] = [
  "",
  "\n",
  "\0\0\0",
  "-1",
  "NaN",
  "1e999",
  "0x",
  "0xzz 0xzz",
  "99999999999999999999",
  "some avg10=abc avg60=\n",
  `write_bytes: ${"9".repeat(400)}\n`,
  "- - - - - - - - -\n",
  "21 1 : / rw - \n1 2 3 4 5 6 7 8 9 10 - -\n- ext4\n",
  "../../../..",
  "\u{fffd}\ud800",
  "x".repeat(100_000),
];

test("no content of a file in /sys or /proc prevents the sensors from being read", () => {
  const random = new SeededRandom(42);
  for (const board of boards) {
    const tree = new BoardTree(board);
    try {
      const files = filesUnder(tree.root).filter((file) => !file.endsWith(".kept"));
      for (let round = 0; round < 40; round++) {
        for (const file of files) {
          if (random.next() < 0.3) tree.set({ [file]: nonsense[Math.floor(random.next() * nonsense.length)] });
        }
        const { power, temperature, rails, storage, pressure, load1, writtenBytes } = readBoard(
          tree.files,
          "/var/lib/siteward",
          at,
        );
        const numbers = [
          temperature?.celsius,
          temperature?.slowsAt,
          temperature?.stopsAt,
          storage.freeBytes,
          storage.wear?.usedPercent,
          pressure.memory,
          load1,
          writtenBytes,
          ...rails.map(({ milliwatts }) => milliwatts),
        ];
        for (const number of numbers) expect(number === undefined || Number.isFinite(number), board).toBe(true);
        expect(temperature === undefined || temperature.celsius < 150).toBe(true);
        expect(power === undefined || power.now.length <= 4).toBe(true);
      }
    } finally {
      tree.remove();
    }
  }
});

test("a machine without these files, or with folders in their place, reports nothing", () => {
  const tree = new BoardTree("generic-x86");
  try {
    tree.set({ "/sys": undefined, "/proc": undefined });
    const empty = readBoard(tree.files, "/var/lib/siteward", at);
    expect(empty).toMatchObject({ power: undefined, temperature: undefined, rails: [], load1: undefined });
    expect(empty.storage).toMatchObject({ kind: "unknown", device: undefined, isVolatile: false, isReadOnly: false });
    tree.set({ "/proc/self/mountinfo/odd": "x", "/sys/class/thermal/thermal_zone0/temp/odd": "x" });
    expect(readBoard(tree.files, "/var/lib/siteward", at).temperature).toBeUndefined();
  } finally {
    tree.remove();
  }
});

test("a symbolic link that leaves the tree or forms a loop is not followed", () => {
  const tree = new BoardTree("raspberry-pi-4-2g");
  try {
    expect(tree.files.real("/sys/dev/block/179:2")).toMatch(/mmcblk0p2$/);
    expect(tree.files.real("/../../etc")).toBeUndefined();
    expect(tree.files.real("/nowhere")).toBeUndefined();
  } finally {
    tree.remove();
  }
});

/** Through links too, as the kernel shows them; without the links themselves. */
function filesUnder(root: string, folder = ""): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const at = `${folder}/${entry.name}`;
    if (entry.isSymbolicLink()) return [];
    if (statSync(path.join(root, at)).isDirectory()) return filesUnder(root, at);
    readFileSync(path.join(root, at));
    return [at];
  });
}
