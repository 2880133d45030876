import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { witnessAnnotation } from "../../../agent/witness/announcement.ts";
import { until } from "../../support/agent-process.ts";
import { boardsOnly } from "../../support/boards-only.ts";
import { ControllerManager } from "../../support/kube/controller-manager.ts";
import { missingAssets } from "../../support/kube/kube-cluster.ts";
import { boardName } from "../../support/load.ts";
import { NetworkedSite } from "../../support/network/networked-site.ts";
import { SiteNetwork } from "../../support/network/site-network.ts";
import { rest } from "../../support/rest.ts";
import { siteward } from "../../support/siteward-command.ts";

const whyNot = missingAssets() ?? SiteNetwork.whyNot();
if (whyNot !== undefined) console.warn(`skipped: boards in networks of their own, because ${whyNot}`);

const config = {
  leader: { duration: "15s", renewDeadline: "10s", retry: "2s", sickFor: "45s" },
  nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "16s", startupGracePeriod: "16s", evictionRate: 5 },
  judgement: { witness: "lan", unprovenHold: "2m" },
  controllers: boardsOnly,
};

describe.skipIf(whyNot !== undefined)("boards with an uplink and a LAN of their own", () => {
  const site = new NetworkedSite(4, config);
  const { kube, network } = site;

  beforeAll(async () => {
    await site.start();
    await untilCalm();
    await until("every board says where it answers on the LAN", async () => (await announced()).every(Boolean), 120);
    // From here on every board has been observed for a whole grace period.
    await rest(20);
  });
  afterEach(() => {
    network.mend();
    site.powerOn();
  });
  afterAll(() => site.stop());
  beforeEach(async () => {
    await untilCalm();
    const there = await kube.podNames();
    for (let board = 0; board < 4; board++) if (!there.includes(`app-${board}`)) await site.runPod(board);
  });

  async function untilCalm(): Promise<void> {
    await until(
      "a leader is ready and no board has a taint",
      async () => {
        const taints = await Promise.all([0, 1, 2, 3].map((board) => kube.taints(board)));
        return site.leader?.isReady === true && taints.every(({ length }) => length === 0);
      },
      120,
      () => site.agents.map((agent) => agent.log().slice(-600)).join("\n---\n"),
    );
  }

  const announced = (): Promise<readonly boolean[]> =>
    Promise.all([0, 1, 2, 3].map(async (board) => (await kube.annotations(board))[witnessAnnotation] !== undefined));

  /** A board that does not lead. */
  const follower = (): number => [0, 1, 2, 3].find((board) => board !== site.leading) ?? 0;

  const why = async (board: number): Promise<string> => {
    const { leader } = site;
    const args = ["why", `node/${boardName(board)}`, "--config", `${leader?.dir}/siteward.yaml`];
    // Its lines are wrapped.
    return (await siteward(args)).stdout.replaceAll(/\s+/g, " ");
  };

  const untilUnknown = (board: number): Promise<number> =>
    until("its Node is Unknown", async () => (await kube.ready(board)) === "Unknown", 60);

  /** Watches the site for these seconds: no board gets a NoExecute taint, and no pod goes. */
  async function expectNoHarm(seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      for (let board = 0; board < 4; board++)
        expect((await kube.taints(board)).filter((taint) => taint.endsWith(":NoExecute"))).toEqual([]);
      expect((await kube.podNames()).toSorted()).toEqual(["app-0", "app-1", "app-2", "app-3"]);
      await rest(1);
    }
  }

  test("a board whose uplink fails is cut off, keeps its pods, and is back as soon as the uplink is", async () => {
    const board = follower();
    network.cutUplink(board);
    await untilUnknown(board);
    await expectNoHarm(10);
    expect(await why(board)).toContain("it answers on the LAN");
    network.mendUplink(board);
    await until("it is ready", async () => (await kube.ready(board)) === "True", 60);
    await expectNoHarm(3);
  });

  test("a board that loses only the LAN is not judged at all", async () => {
    const board = follower();
    network.unplugLan(board);
    await expectNoHarm(20);
    expect(await kube.ready(board)).toBe("True");
  });

  test("a board without power loses its pods, and is itself again when power is back", async () => {
    const board = follower();
    await site.powerOff(board);
    await until("its pod is gone", async () => !(await kube.podNames()).includes(`app-${board}`), 90);
    expect(await kube.taints(board)).toContain("unreachable:NoExecute");
  });

  test("a leader whose uplink fails hands over, and is cut off itself", async () => {
    const board = site.leading;
    network.cutUplink(board);
    await until("another board leads", () => site.leading !== board && site.leader?.isReady === true, 60);
    await untilUnknown(board);
    await expectNoHarm(10);
  });

  test("an uplink that carries nothing back to the board is a failed one", async () => {
    const board = follower();
    network.cutDownlink(board);
    await untilUnknown(board);
    await expectNoHarm(10);
  });

  test("an uplink that flaps harms no board", async () => {
    const board = follower();
    for (const [cut, mended] of [
      [20, 4],
      [22, 2],
    ] as const) {
      network.cutUplink(board);
      await expectNoHarm(cut);
      network.mendUplink(board);
      await expectNoHarm(mended);
    }
  });

  test("a board that hears the leader's questions, but whose answers are lost, counts as one that does not answer", async () => {
    const board = follower();
    network.cutLanOneWay(board, site.leading);
    network.cutUplink(board);
    await until("its pod is gone", async () => !(await kube.podNames()).includes(`app-${board}`), 90);
    // Earlier stories, in which it did answer, come first.
    expect((await why(board)).split("Incident ").at(-1)).not.toContain("it answers on the LAN");
  });

  test.each(["before", "while"])(
    "a board whose address on the LAN changes %s its uplink is cut keeps its pods, although the leader knows the former one",
    async (when) => {
      const board = follower();
      if (when === "before") network.readdress(board);
      network.cutUplink(board);
      if (when === "while") network.readdress(board);
      await untilUnknown(board);
      await expectNoHarm(60);
      expect(await why(board)).toContain("it answers on the LAN");
      network.mend();
      await until("it is ready", async () => (await kube.ready(board)) === "True", 60);
    },
  );

  test("if the leader's LAN and then a board's uplink fail, it holds the board, and hands over to a leader that hears it", async () => {
    const board = follower();
    const former = site.leading;
    network.unplugLan(former);
    await rest(4);
    network.cutUplink(board);
    await untilUnknown(board);
    await expectNoHarm(15);
    expect(await why(board)).toContain("held");
    await until("another board leads", () => site.leading !== former && site.leader?.isReady === true, 120);
    await until("it hears the board", async () => (await why(board)).includes("it answers on the LAN"), 60);
    await expectNoHarm(10);
    network.mend();
    await until("it is ready", async () => (await kube.ready(board)) === "True", 60);
  });

  test("a leader that began without a LAN, so that it has heard boards by their uplinks only, holds one that loses its uplink", async () => {
    for (let one = 0; one < 4; one++) network.unplugLan(one);
    const former = site.leader;
    await former?.stop("SIGTERM");
    former?.start();
    await until("a leader is ready", () => site.leader?.isReady === true, 60);
    // It asks every board, and hears each for a grace period.
    await rest(30);
    const board = follower();
    network.cutUplink(board);
    await untilUnknown(board);
    await expectNoHarm(60);
    expect(await why(board)).toContain("held");
  });

  const slow = { timeout: 360_000 };
  test(
    "another board at the address of a dead one does not answer for it, and delays its eviction by the hold at most",
    slow,
    async () => {
      const board = follower();
      const taker = [0, 1, 2, 3].find((other) => other !== board && other !== site.leading) ?? 0;
      await site.powerOff(board);
      network.takeOver(taker, board);
      // If the other board announces the address in time, two boards do, and silence there shows nothing.
      await until("its pod is gone", async () => !(await kube.podNames()).includes(`app-${board}`), 240);
    },
  );
});

describe.skipIf(whyNot !== undefined)(
  "a kube-controller-manager in the cloud, over the same boards without agents",
  () => {
    const site = new NetworkedSite(4);
    const { kube, network } = site;
    const manager = new ControllerManager(kube.cluster);

    const allReady = async (): Promise<boolean> =>
      (await Promise.all([0, 1, 2, 3].map((board) => kube.ready(board)))).every((ready) => ready === "True");

    beforeAll(async () => {
      await site.start();
      await until("the kubelets report", allReady, 60);
      for (let board = 0; board < 4; board++) await site.runPod(board);
      await manager.start("node-lifecycle-controller,taint-eviction-controller", {
        "node-monitor-grace-period": "16s",
        "node-startup-grace-period": "16s",
        "node-monitor-period": "1s",
        "node-eviction-rate": "5",
      });
      await rest(20);
    });
    afterAll(async () => {
      await manager.stop();
      await site.stop();
    });
    // A board whose heartbeats were late for another reason may have lost its pod in an earlier story.
    beforeEach(async () => {
      network.mend();
      await until("every board is ready", allReady, 60);
      const there = await kube.podNames();
      for (let board = 0; board < 4; board++) if (!there.includes(`app-${board}`)) await site.runPod(board);
    });

    test.each([
      ["fails", 1, () => network.cutUplink(1)],
      ["carries nothing back", 2, () => network.cutDownlink(2)],
    ])("evicts the pods of a board that runs, but whose uplink %s", async (_, board, cut) => {
      cut();
      await until("its pod is gone", async () => !(await kube.podNames()).includes(`app-${board}`), 90);
      expect(await kube.podNames()).toContain("app-0");
      network.mend();
      await until("it is ready", async () => (await kube.ready(board)) === "True", 60);
    });

    test("keeps the pods of a board that loses only the LAN, which it does not know", async () => {
      network.unplugLan(3);
      await rest(25);
      expect(await kube.podNames()).toContain("app-3");
    });
  },
);
