import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import Sqlite from "better-sqlite3";
import { SeededRandom } from "../support/seeded-random.ts";

/** Something that happens to a file while no process has it open. `other`: the other database of the folder. */
export type Damage = (file: string, other: string) => void;

const random = new SeededRandom(41);
const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random.integer(256)));
const sizeOf = (file: string): number => statSync(file).size;

function overwrite(file: string, from: number, bytes: Buffer): void {
  const whole = readFileSync(file);
  bytes.copy(whole, from);
  writeFileSync(file, whole);
}

function replaced(file: string, make: () => void): void {
  rmSync(file, { force: true });
  make();
}

/** A database with these tables and nothing else, as another program would make it. */
function foreign(file: string, sql: string): void {
  replaced(file, () => altered(file, sql));
}

function altered(file: string, sql: string): void {
  const opened = new Sqlite(file, { timeout: 0 });
  opened.exec(sql);
  opened.close();
}

/** Of the main file. */
export const damages: Readonly<Record<string, Damage>> = {
  "noise from end to end": (file) => writeFileSync(file, noise(sizeOf(file))),
  "a few bytes of noise": (file) => writeFileSync(file, noise(77)),
  zeros: (file) => writeFileSync(file, Buffer.alloc(sizeOf(file))),
  "noise in its header": (file) => overwrite(file, 0, noise(100)),
  "a page size that is another": (file) => overwrite(file, 16, Buffer.from([0x10, 0])),
  "a schema format of the future": (file) => overwrite(file, 47, Buffer.from([99])),
  "another encoding of text": (file) => overwrite(file, 59, Buffer.from([2])),
  "no format number": (file) => overwrite(file, 60, Buffer.alloc(4)),
  "noise on its first page": (file) => overwrite(file, 100, noise(1900)),
  "noise on its third page": (file) => overwrite(file, 4096, noise(2048)),
  "noise in the middle": (file) => overwrite(file, Math.floor(sizeOf(file) / 2), noise(3000)),
  "noise at its end": (file) => overwrite(file, sizeOf(file) - 2048, noise(2048)),
  "nothing in it": (file) => truncateSync(file, 0),
  "one byte": (file) => truncateSync(file, 1),
  "its first 99 bytes": (file) => truncateSync(file, 99),
  "its first 600 bytes": (file) => truncateSync(file, 600),
  "its first half": (file) => truncateSync(file, Math.floor(sizeOf(file) / 2)),
  "its end torn off": (file) => truncateSync(file, sizeOf(file) - 777),
  "a page less": (file) => truncateSync(file, sizeOf(file) - 2048),
  "noise behind it": (file) => appendFileSync(file, noise(5000)),
  text: (file) => writeFileSync(file, "this is no database\n".repeat(500)),
  "a folder in its place": (file) => replaced(file, () => mkdirSync(path.join(file, "below"), { recursive: true })),
  "a link to nowhere": (file) => replaced(file, () => symlinkSync("/nowhere/at/all", file)),
  "a link to itself": (file) => replaced(file, () => symlinkSync(file, file)),
  "a link to a device": (file) => replaced(file, () => symlinkSync("/dev/null", file)),
  "a database of another program": (file) => foreign(file, "CREATE TABLE persons (name)"),
  "another program's format 1": (file) => foreign(file, "CREATE TABLE persons (name);PRAGMA user_version = 1"),
  "tables of our names": (file) =>
    foreign(file, "CREATE TABLE memo (a);CREATE TABLE resources (a);PRAGMA user_version = 1"),
  "another application's number": (file) => altered(file, "PRAGMA application_id = 1234"),
  "a table missing": (file) => altered(file, "DROP TABLE IF EXISTS memo;DROP TABLE IF EXISTS objects"),
  "the other database's content": (file, other) => copyFileSync(other, file),
};

/** Of what lies beside it. */
export const damagesBeside: Readonly<Record<string, Damage>> = {
  "a log of noise": (file) => writeFileSync(`${file}-wal`, noise(40_000)),
  "an empty log": (file) => writeFileSync(`${file}-wal`, ""),
  "a log of zeros": (file) => writeFileSync(`${file}-wal`, Buffer.alloc(40_000)),
  "noise in the header of its log": (file) => existsSync(`${file}-wal`) && overwrite(`${file}-wal`, 0, noise(32)),
  "the other database's log": (file, other) =>
    existsSync(`${other}-wal`) && copyFileSync(`${other}-wal`, `${file}-wal`),
  "a folder as log": (file) => replaced(`${file}-wal`, () => mkdirSync(`${file}-wal`)),
  "a log that leads nowhere": (file) => replaced(`${file}-wal`, () => symlinkSync("/nowhere/at/all", `${file}-wal`)),
  "an index of noise": (file) => writeFileSync(`${file}-shm`, noise(32_768)),
  "a folder as index": (file) => replaced(`${file}-shm`, () => mkdirSync(`${file}-shm`)),
  "a journal of noise": (file) => writeFileSync(`${file}-journal`, noise(4000)),
  "a folder as journal": (file) => mkdirSync(`${file}-journal`),
};
