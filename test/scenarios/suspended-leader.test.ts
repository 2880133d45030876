import { afterEach, expect, test } from "vitest";
import { realWall } from "./simulation/schedule.ts";
import type { Waking } from "./simulation/sim-process.ts";
import { Site } from "./simulation/site.ts";

/*
 * A board was silent for so long that the toleration times of its pods are about to end. The leader's process is stopped
 * for less than its renew deadline, and meanwhile the board comes back. Real agents on virtual time.
 */

const second = 1000;
const board = "pi-3";
/** How long the pod tolerates the taint. */
const tolerated = 60 * second;
let site: Site | undefined;

afterEach(() => {
  site?.close();
  site = undefined;
});

test.each(["timers first", "answers first"] as const)(
  "a leader that was suspended for seconds, and continues with its %s, does not evict by what it knew before",
  async (waking: Waking) => {
    const boards = Array.from({ length: 4 }, (_, index) => ({
      name: `pi-${index + 1}`,
      number: index + 1,
      zone: "a",
      pace: 1,
      wall: realWall,
      latency: 3,
      pings: true,
    }));
    const timing = { name: "unhurried", duration: 60_000, renewDeadline: 40_000, retry: 10_000 } as const;
    const rest = {
      followers: "expiry",
      evictionRate: 0.1,
      maxHarm: undefined,
      selects: false,
      pins: false,
      lan: "none",
    } as const;
    const setting = { policy: "evidence", standby: "warm", ...rest, timing, boards } as const;
    site = new Site({ setting, seed: 7, faults: [], calmAt: 0 }, { everything: false });
    const { time, keeper, api } = site;
    const run = (ms: number): Promise<void> => time.runUntil(time.now + ms);
    for (const one of site.boards) time.at(0, () => one.powerOn(realWall));
    keeper.start();
    await run(180 * second);
    const returning = site.boards.find(({ plate }) => plate.name === board);
    const { leader } = site;
    if (!returning || !leader?.agent || leader === returning) throw new Error("the story needs another leader");
    const isReady = (): boolean =>
      JSON.parse(api.stored(`nodes/${board}`) ?? "{}").status.conditions.some(
        ({ type, status }: { type: string; status: string }) => type === "Ready" && status === "True",
      );
    const pod = (): unknown => {
      const { uid, deletionTimestamp } = JSON.parse(api.stored(`pods/default/long-${board}`) ?? "{}").metadata ?? {};
      return { uid, deletionTimestamp };
    };
    const before = pod();
    const mend = returning.kubeletEdge.impair({ is: "refused" }, "reset");
    while (!/unreachable","[^}]*NoExecute/.test(api.stored(`nodes/${board}`) ?? "")) await run(100);
    const tainted = time.now;
    await run(55 * second);
    mend();
    leader.agent.process.suspend();
    const suspended = time.now;
    while (!isReady() || time.now - tainted <= tolerated) await run(100);

    expect(time.now - suspended).toBeLessThan(timing.renewDeadline);
    leader.agent.process.resume(waking);
    await run(60 * second);
    expect(pod()).toEqual(before);
  },
);
