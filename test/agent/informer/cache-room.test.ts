import { beforeEach, expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import {
  controllerRevisions,
  daemonSets,
  leases,
  nodes,
  pods,
  type Resource,
  services,
} from "../../../agent/api/resources.ts";
import { CacheRoom, isForRoom } from "../../../agent/informer/cache-room.ts";
import type { Database } from "../../../storage/database/database.ts";
import { openCache } from "./cache.ts";

const [KiB, MiB] = [1024, 2 ** 20];

let database: Database;
let disk: { size: number; free: number };
let room: CacheRoom;

beforeEach(() => {
  database = openCache();
  disk = { size: 64 * MiB, free: 50 * MiB };
  room = new CacheRoom({ database, disk: () => disk });
});

/** An object of about this many bytes. */
const sized = (bytes: number, namespace = "tenant", name = "web"): KubeObject & { readonly text: string } => ({
  metadata: { name, namespace, uid: "1", resourceVersion: "7" },
  text: "x".repeat(bytes),
});

const why = (resource: Resource<KubeObject>, bytes: number, { stored = 0, namespace = "tenant" } = {}) =>
  room.refusal(resource, sized(bytes, namespace), () => stored)?.why;

let rows = 0;
function store(bytes: number, namespace = "tenant"): void {
  database
    .prepareOnce("INSERT INTO objects (resource, key, uid, version, text) VALUES (1, ?, '1', '1', ?)")
    .run(`${namespace}/${++rows}`, "x".repeat(bytes));
}

test("an object above the limit is refused in any case, and not read again", () => {
  const refusal = room.refusal(daemonSets, sized(384 * KiB), () => 0);
  expect(refusal).toMatchObject({ why: "DaemonSet tenant/web: has more than 393216 bytes", isForRoom: false });
  expect(why(daemonSets, 383 * KiB)).toBeUndefined();
  // A revision has the template of its set, and more.
  expect(why(controllerRevisions, 500 * KiB)).toBeUndefined();
  expect(why(controllerRevisions, 576 * KiB)).toMatch(/more than 589824 bytes/);
});

test("a cache without a disk, as in a simulation, refuses only objects above the limit", () => {
  room = new CacheRoom({ database, disk: () => undefined });
  store(64 * MiB);
  expect(why(daemonSets, 300 * KiB)).toBeUndefined();
  expect(why(daemonSets, 400 * KiB)).toMatch(/more than/);
});

test("large objects of a namespace may use a sixteenth of the disk, those of all namespaces a quarter", () => {
  for (let i = 0; i < 15; i++) store(256 * KiB);
  expect(why(daemonSets, 250 * KiB)).toBeUndefined();
  expect(why(daemonSets, 257 * KiB)).toBe(
    "DaemonSet tenant/web: the large objects (of more than 32768 bytes) of namespace tenant would use more than 4.0 MiB; it is left out until the cache has room",
  );
  expect(why(daemonSets, 257 * KiB, { namespace: "other" })).toBeUndefined();
  for (const namespace of ["a", "b", "c"]) for (let i = 0; i < 15; i++) store(256 * KiB, namespace);
  expect(why(daemonSets, 350 * KiB, { namespace: "other" })).toBeUndefined();
  for (const namespace of ["d", "d", "d"]) store(256 * KiB, namespace);
  expect(why(daemonSets, 350 * KiB, { namespace: "other" })).toMatch(/all large objects .* more than 16.0 MiB/);
  expect(why(daemonSets, 31 * KiB, { namespace: "other" })).toBeUndefined();
});

test("an object that does not grow is always stored, and a larger state counts only its growth", () => {
  for (let i = 0; i < 16; i++) store(256 * KiB);
  expect(why(daemonSets, 255 * KiB, { stored: 256 * KiB })).toBeUndefined();
  expect(why(daemonSets, 257 * KiB, { stored: 256 * KiB })).toMatch(/namespace tenant/);
  expect(why(daemonSets, 250 * KiB)).toMatch(/namespace tenant/);
});

test("the last quarter of a small disk is left to Nodes, Leases and pods", () => {
  disk.free = 17 * MiB;
  expect(why(services, 1000)).toBeUndefined();
  disk.free = 15 * MiB;
  expect(why(services, 1000)).toBe(
    "Service tenant/web: less than 16.0 MiB are free in the state folder's file system; it is left out until the cache has room",
  );
  for (const resource of [nodes, leases]) expect(why(resource, 100 * KiB)).toBeUndefined();
  expect(why(pods, 3 * KiB)).toBeUndefined();
  expect(why(pods, 5 * KiB)).toMatch(/less than 16.0 MiB/);
  // A service that changes keeps up, as long as it is small.
  expect(why(services, 3 * KiB, { stored: 1000 })).toBeUndefined();
  expect(why(services, 5 * KiB, { stored: 1000 })).toMatch(/less than 16.0 MiB/);
});

test.each([
  [4, 2],
  [16, 8],
  [24, 8],
  [36, 9],
  [64, 16],
  [32_000, 16],
])("of a disk of %i MiB, %i MiB are reserved", (size, reserve) => {
  disk = { size: size * MiB, free: reserve * MiB };
  expect(why(services, 1000)).toBeUndefined();
  disk.free--;
  expect(why(services, 1000)).toMatch(`less than ${reserve}.0 MiB`);
});

test("free pages within the cache count as free room", () => {
  disk.free = 15.5 * MiB;
  expect(why(services, 1000)).toMatch(/less than 16.0 MiB/);
  store(MiB);
  database.prepareOnce("DELETE FROM objects").run();
  expect(why(services, 1000)).toBeUndefined();
});

test("what was left out fits again once there is clearly more room", () => {
  disk.free = 17 * MiB;
  expect(room.fits(services, "tenant", 1000)).toBe(false);
  disk.free = 21 * MiB;
  expect(room.fits(services, "tenant", 1000)).toBe(true);
  for (let i = 0; i < 16; i++) store(256 * KiB);
  expect([room.fits(daemonSets, "tenant", 100 * KiB), room.fits(daemonSets, "other", 100 * KiB)]).toEqual([
    false,
    true,
  ]);
  expect(isForRoom(why(daemonSets, 300 * KiB) ?? "")).toBe(true);
  expect(isForRoom(why(daemonSets, 400 * KiB) ?? "")).toBe(false);
});
