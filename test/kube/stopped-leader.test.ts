import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards, report } from "../support/load.ts";
import { rest } from "../support/rest.ts";

if (missingAssets()) console.log("stopped-leader.test.ts is skipped: needs the servers that KUBEBUILDER_ASSETS names");

const config = {
  nodeLifecycle: { gracePeriod: "20s", startupGracePeriod: "20s" },
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s", sickFor: "15s" },
};

describe.skipIf(missingAssets())("a leader whose process is stopped for 1.3 s in every 3 s", () => {
  const site = new KubeSite();
  const ends = new AbortController();

  beforeAll(async () => {
    await site.start();
    await fillBoards(site.cluster, { nodes: 4, pods: 0, seed: 1 });
    site.beat(0, 1, 2, 3);
    await Promise.all([0, 1, 2, 3].map((i) => report(site.cluster, i)));
  });
  afterAll(async () => {
    ends.abort();
    await site.stop();
  });

  test("lets another board lead, which judges the board that dies meanwhile", async () => {
    const first = site.agent(boardName(0), config);
    await until("the first leads", () => first.leads, 30);
    const second = site.agent(boardName(1), config);
    await until("the second has started", () => second.status() !== undefined, 30);
    const stopping = stopAgainAndAgain(first.pid, ends.signal);
    site.silence(3);
    await until(
      "the second leads",
      () => second.leads,
      60,
      () => first.log().slice(-1500),
    );
    expect(first.log()).toMatch(/its process has been stopped again and again for \S+, and board-0001 is a standby/);
    const isTainted = async () => (await site.taints(3)).some((taint) => taint.includes("unreachable:NoExecute"));
    await until("the dead board is tainted", isTainted, 60);
    ends.abort();
    await stopping;
  });
});

async function stopAgainAndAgain(pid: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await rest(1.7);
    if (signal.aborted) return;
    process.kill(pid, "SIGSTOP");
    await rest(1.3);
    process.kill(pid, "SIGCONT");
  }
}
