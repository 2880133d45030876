import { appendFileSync, mkdirSync, rmSync, statfsSync, statSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards, report } from "../support/load.ts";
import { canMount, mount, unmount } from "../support/mounts.ts";
import { applyRbac } from "../support/rbac.ts";

/*
 * A tenant with the right to create DaemonSets, against the state folders of two boards on disks of 24 MiB. Each story
 * would have left the site without a leader for good: the cache kept all objects of the tenant, whatever their size.
 */

const MiB = 2 ** 20;
const sizeOfDisk = 24;
const why = missingAssets() ?? (canMount() ? undefined : "this user may not mount a file system");
if (why) console.log(`full-disk.test.ts is skipped because ${why}`);

const config = {
  leader: { duration: "9s", renewDeadline: "6s", retry: "1s", followers: "poll" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "8s", startupGracePeriod: "8s", evictionRate: 5 },
  judgement: { policy: "kubernetes" },
  standby: "warm",
};
const sets = "/apis/apps/v1/namespaces/tenant/daemonsets";

/** A set whose pods fit no board, with a template of about this many bytes. */
const daemonSet = (name: string, bytes: number): object => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        nodeSelector: { none: "yes" },
        containers: [{ name: "main", image: "x", env: [{ name: "E", value: "x".repeat(bytes) }] }],
      },
    },
  },
});

describe.skipIf(why !== undefined)("a tenant that fills the disks of two boards", () => {
  const site = new KubeSite();
  const disks: string[] = [];
  let boards: readonly AgentProcess[];

  beforeAll(async () => {
    await site.start();
    await fillBoards(site.cluster, { nodes: 4, pods: 0, seed: 1 });
    site.beat(0, 1, 2, 3);
    await site.cluster.request("POST", "/api/v1/namespaces", { metadata: { name: "tenant" } });
    await applyRbac(site.cluster);
    boards = [0, 1].map((board) => {
      const disk = mount(site.cluster.dir, `size=${sizeOfDisk}m`);
      disks.push(disk);
      const folder = path.join(disk, "state");
      mkdirSync(folder);
      return site.agent(boardName(board), { ...config, state: { folder } });
    });
    await until("a board leads", () => site.leader !== undefined, 60);
  });
  afterAll(async () => {
    for (const board of boards) await board.stop("SIGKILL");
    for (const disk of disks) unmount(disk);
    await site.stop();
  });

  const conditionsOf = (agent: AgentProcess): readonly string[] =>
    agent.status()?.health.conditions.map(({ type, message }) => `${type}: ${message}`) ?? [];
  const shown = (): string => JSON.stringify(boards.map((board) => [board.leads, conditionsOf(board)]));
  const freeOn = (disk: string): number => {
    const { bavail, bsize } = statfsSync(disk);
    return (bavail * bsize) / MiB;
  };
  const create = (name: string, bytes: number): Promise<unknown> =>
    site.cluster.request("POST", sets, daemonSet(name, bytes));

  /** A board falls silent and returns: a site with a leader judges it. */
  async function isJudged(board: number): Promise<void> {
    site.silence(board);
    await until("it is tainted", async () => (await site.taints(board)).includes("unreachable:NoExecute"), 60, shown);
    site.beat(board);
    await report(site.cluster, board);
    await until("it is back", async () => !(await site.taints(board)).includes("unreachable:NoExecute"), 60, shown);
  }

  test("with objects of any size leaves room for boards: the rest is left out, and named", async () => {
    for (let i = 0; i < 20; i++) await create(`huge-${i}`, 1_250_000);
    for (let i = 0; i < 20; i++) await create(`large-${i}`, 350_000);
    let next = 0;
    const creators = Array.from({ length: 4 }, async () => {
      while (next < 800) await create(`small-${next++}`, 30_000);
    });
    await Promise.all(creators);
    await until("the sets are named", () => /ObjectsRejected: daemonsets\.apps/.test(shown()), 60, shown);
    await isJudged(3);
    for (const disk of disks) expect(freeOn(disk)).toBeGreaterThan(2);
    expect(shown()).not.toMatch(/AgentHeld|NotStanding/);
  });

  test("by other files as well: the caches are deleted to make room, and a board leads again", async () => {
    for (const disk of disks) expect(statSync(path.join(disk, "state/cache.db")).size).toBeGreaterThan(8 * MiB);
    // A checkpoint may shorten a log, so room is taken again and again, but not that of a cache that was deleted.
    const most = disks.map((disk) => freeOn(disk) + 4);
    const isDeleted = (board: AgentProcess): boolean =>
      conditionsOf(board).some((text) => /^CacheRebuilt: .*the disk is full/.test(text));
    const areDeleted = (): boolean => {
      for (const [i, board] of boards.entries()) if (!isDeleted(board)) takeRoom(disks[i] ?? "", most[i] ?? 0);
      return boards.every(isDeleted);
    };
    await until("the caches were deleted", areDeleted, 90, shown);
    await until("a board leads", () => site.leader !== undefined, 60, shown);
    await isJudged(3);
    expect(boards.map(({ running }) => running)).toEqual([true, true]);
  });

  test("cannot keep the boards from leading again after a power cut", async () => {
    await Promise.all(boards.map((board) => board.stop("SIGKILL")));
    for (const board of boards) board.start();
    await until("a board leads", () => site.leader !== undefined, 60, shown);
    await isJudged(3);
  });

  test("no longer matters once the disks have room: what was left out is read again", async () => {
    for (const disk of disks) rmSync(path.join(disk, "filler"));
    await site.cluster.request("DELETE", sets);
    // As the garbage collector would, which does not run here.
    await site.cluster.request("DELETE", "/apis/apps/v1/namespaces/tenant/controllerrevisions");
    await until("nothing is named", () => !/ObjectsRejected/.test(shown()), 150, shown);
    await isJudged(3);
  });

  /** Takes what is free but for 300 kB, up to `most` MiB in total. */
  function takeRoom(disk: string, most: number): void {
    const file = path.join(disk, "filler");
    const taken = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    const size = Math.floor(Math.min(most * MiB - taken, (freeOn(disk) - 0.3) * MiB));
    if (size > 0) appendFileSync(file, Buffer.alloc(size));
  }
});
