import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Authority, hasOpenssl } from "../../agent/client/certificates.ts";
import { type AgentProcess, until } from "../../support/agent-process.ts";
import { missingAssets } from "../../support/kube/kube-cluster.ts";
import { KubeSite } from "../../support/kube/kube-site.ts";
import { LateLink, type LateRequest } from "../../support/links/late-link.ts";
import { boardName, fillBoards } from "../../support/load.ts";
import { rest } from "../../support/rest.ts";

const leader = { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" };
/** Two durations and two retry periods, in seconds. */
const restSeconds = 14;

const isWriteOfTheLease = ({ method, path }: LateRequest): boolean =>
  method !== "GET" && path.includes("/namespaces/kube-system/leases");

/** The leader's link delivers its writes of the Lease at once, and their answers too late; reads are quick. */
describe.skipIf(missingAssets() || !hasOpenssl())("a leader whose writes of the Lease are answered too late", () => {
  const site = new KubeSite();
  const authority = new Authority();
  let link: LateLink;
  let far: AgentProcess;
  let near: AgentProcess;

  const problems = (agent: AgentProcess) => agent.status()?.health.conditions ?? [];

  beforeAll(async () => {
    await site.start();
    const { cluster } = site;
    await fillBoards(cluster, { nodes: 3, pods: 0, seed: 1 });
    site.beat(0, 1, 2);
    const ca = readFileSync(path.join(cluster.dir, "certs/apiserver.crt"), "utf8");
    link = new LateLink({ target: cluster.server, ca, pair: authority.issue("late link") });
    const kubeconfig = path.join(cluster.dir, "late.kubeconfig");
    cluster.writeKubeconfig(kubeconfig, await link.listen(), authority.ca);
    const config = { leader, nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "20s" } };
    far = site.agent(boardName(0), config, kubeconfig);
    await until("it leads", () => far.leads, 30);
    near = site.agent(boardName(1), config);
    await until("the other follows", () => near.status()?.leader?.role === "standby", 30);
  });
  afterAll(async () => {
    await site.stop();
    await link?.close();
    authority.remove();
  });

  test("reports that and leaves the Lease to the other board, which marks a board that is gone", async () => {
    link.answerLate(isWriteOfTheLease, 10_000);
    site.silence(2);
    const tooLate = "its claims reach the Lease, but the answers arrive too late for it to lead";
    const says = (type: string) => problems(far).some((one) => one.type === type && one.message.includes(tooLate));
    await until("it says that it does not lead", () => says("ElectionFailing"), 60);
    await until("it does not stand", () => says("NotStanding"), 60);
    await until("the other board leads", () => near.leads, restSeconds);
    expect((await site.lease()).spec.leaseTransitions).toBe(1);
    await until("the board that is gone is marked", async () => (await site.ready(2)) === "Unknown", 60);
  });

  test("leaves it there when its rest has ended, and is a standby once answers are in time again", async () => {
    await rest(restSeconds + 5);
    expect([near.leads, far.leads]).toEqual([true, false]);
    link.answerInTime();
    await until(
      "its status is without such problems",
      () => problems(far).every(({ type }) => type !== "NotStanding"),
      30,
    );
    await near.stop("SIGKILL");
    await until("it leads", () => far.leads, 40);
  });
});
