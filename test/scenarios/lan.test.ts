import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { boardName } from "../support/load.ts";

async function freePort(): Promise<number> {
  const socket = createSocket("udp4").bind(0);
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  return port;
}

/**
 * Both boards are this machine, and announce its addresses. That a board does not answer at an address that the leader has
 * itself shows nothing, so a dead one is held.
 */
const judging = async () => ({
  judgement: { witness: "lan", witnessPort: await freePort(), unprovenHold: "30s" },
});

test("a board that loses its API link but answers on the LAN keeps its pods until it dies", {
  timeout: 300_000,
}, async () => {
  const config = {
    leader: { duration: "12s", renewDeadline: "8s", retry: "1s" },
    nodeLifecycle: { gracePeriod: "15s", monitorPeriod: "1s", evictionRate: 10 },
    ...(await judging()),
  };
  const site = await new LinkedSite({ config }).start();
  const cut = 1;
  const node = () =>
    site.request<{
      metadata: { annotations?: Record<string, string> };
      status: { conditions: { type: string; status: string }[] };
    }>("GET", `/api/v1/nodes/${boardName(cut)}`);
  const isUnknown = async () =>
    (await node()).status.conditions.some(({ type, status }) => type === "Ready" && status === "Unknown");
  try {
    await until("the first board leads", () => site.agent.isReady, 60);
    const { agent, link } = await site.joinApart(boardName(cut), await judging());
    const announced = async () => (await node()).metadata.annotations?.["siteward.dev/witness"] !== undefined;
    await until("the other board announces where it answers", announced, 90, () => agent.log().slice(-2000));
    expect(statSync(path.join(agent.dir, "state/witness.key")).mode & 0o777).toBe(0o600);
    await site.tolerate(cut, 5);

    link.set({ silent: true });
    site.silence(cut);
    // The simulated kubelet has a boot of its own; a real one is in that of its agent.
    const bootID = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const boot = { status: { nodeInfo: { bootID } } };
    await site.request("PATCH", `/api/v1/nodes/${boardName(cut)}/status`, boot, "application/merge-patch+json");
    await until("the silent board is Unknown", isUnknown, 60);
    expect(site.agent.log()).toContain("a silent board answers on the LAN");
    await new Promise((resolve) => setTimeout(resolve, 30_000));
    const { boards = 0, heard, mute } = site.agent.status()?.lan ?? {};
    expect([heard, mute?.count]).toEqual([1, boards - 1]);
    expect(tainted(await site.taints(cut))).toBe(false);
    expect(await site.hasPod("patient")).toBe(true);

    await agent.stop("SIGKILL");
    await until("it is tainted when it says nothing more", async () => tainted(await site.taints(cut)), 150);
    await until("its pod is evicted", async () => !(await site.hasPod("patient")), 30);
  } finally {
    await site.stop();
  }
});

const tainted = (taints: readonly string[]): boolean => taints.includes("unreachable:NoExecute");
