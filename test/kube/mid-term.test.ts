import { cpSync, readdirSync, statfsSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentOptions, AgentProcess, until } from "../support/agent-process.ts";
import { type Audited, missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { FaultyLink } from "../support/links/faulty-link.ts";
import { boardName, fill, podName } from "../support/load.ts";
import { canMount, mount, unmount } from "../support/mounts.ts";
import { rest } from "../support/rest.ts";
import { missingCompiler, WallClock } from "../support/wall-clock.ts";

/** Seconds of the suspension; SITEWARD_TEST_SUSPENSION=600 makes it ten minutes. */
const suspension = Number(process.env.SITEWARD_TEST_SUSPENSION ?? 30);
const lease = 9;
const sinceEpoch = Date.now() / 1000;

/** The site of one story: three boards with their pods, of which the last one dies. All sites share a cluster. */
const stories = ["suspended", "cloned", "full", "clocks"] as const;
type Story = (typeof stories)[number];
const boardsOf = (story: Story): readonly [number, number, number] => {
  const first = 3 * stories.indexOf(story);
  return [first, first + 1, first + 2];
};

const lackOfMounts = canMount() ? undefined : "this user may not mount a file system";
for (const why of [lackOfMounts, missingCompiler()])
  if (why) console.log(`mid-term.test.ts skips stories because ${why}`);

describe.skipIf(missingAssets())("a site in mid-term on a real kube-apiserver", { concurrent: true }, () => {
  const site = new KubeSite();

  beforeAll(async () => {
    await site.start();
    await site.cluster.grant([{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]);
    const nodes = 3 * stories.length;
    await fill(site.cluster, { nodes, pods: nodes, seed: 1 });
    for (const story of stories) {
      for (const board of boardsOf(story)) {
        const patch = { metadata: { labels: { area: story } } };
        await site.cluster.request("PATCH", `/api/v1/nodes/${boardName(board)}`, patch, "application/merge-patch+json");
      }
    }
    site.beat(...Array.from({ length: nodes }, (_, board) => board));
  });
  afterAll(() => site.stop());

  const configOf = (story: Story) => ({
    site: { name: story, nodeSelector: `area=${story}` },
    leader: { duration: `${lease}s`, renewDeadline: "6s", retry: "1s", followers: "poll" },
    nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "8s", startupGracePeriod: "8s", evictionRate: 10 },
    judgement: { policy: "kubernetes" },
    link: { blip: "2s" },
  });

  function board(story: Story, name: string, options: Partial<AgentOptions> = {}): AgentProcess {
    const { cluster } = site;
    const config = { ...configOf(story), ...options.config };
    const agent = new AgentProcess({
      dir: cluster.dir,
      board: `${story}-${name}`,
      kubeconfig: cluster.kubeconfig,
      ...options,
      config,
    });
    site.agents.push(agent);
    agent.start();
    return agent;
  }

  const when = (
    what: string,
    agent: AgentProcess,
    holds: () => boolean | Promise<boolean>,
    seconds: number,
  ): Promise<number> =>
    until(what, holds, seconds, () => `${JSON.stringify(agent.status()?.health)} ${agent.log().slice(-1500)}`);

  const descriptors = ({ pid }: AgentProcess): number => readdirSync(`/proc/${pid}/fd`).length;

  /** The resources of a process before a story, which it must return to. */
  const held = (agent: AgentProcess) => ({ descriptors: descriptors(agent), rss: agent.memory().rss });

  async function expectReturned(agent: AgentProcess, before: ReturnType<typeof held>): Promise<void> {
    await when("its descriptors return", agent, () => descriptors(agent) <= before.descriptors + 2, 20);
    expect(agent.memory().rss).toBeLessThan(before.rss + 10);
  }

  /** Writes to boards and pods by an agent while the Lease was last written by another one. */
  function actsOfOthers(story: Story): readonly string[] {
    const who = ({ user, userAgent }: Audited): string => `${user.username} ${userAgent}`;
    const names = boardsOf(story).flatMap((i) => [boardName(i), podName(i)]);
    let holder: string | undefined;
    const wrong: string[] = [];
    const writes = site.cluster
      .audit()
      .filter(({ verb, userAgent, responseStatus }) => {
        const isWrite = !["get", "list", "watch"].includes(verb) && (responseStatus?.code ?? 500) < 300;
        return isWrite && userAgent?.includes(`(${story}-`);
      })
      .sort((a, b) => (a.stageTimestamp < b.stageTimestamp ? -1 : 1));
    for (const write of writes) {
      const { resource, name = "" } = write.objectRef ?? { resource: "" };
      if (resource === "leases" && name === `siteward-${story}`) holder = who(write);
      else if (["nodes", "pods"].includes(resource) && names.includes(name) && who(write) !== holder)
        wrong.push(`${who(write)} wrote ${name}, and ${holder} led`);
    }
    return wrong;
  }

  /** The dead board is tainted, living boards and their pods are untouched, and only the holder of the Lease wrote. */
  async function expectJudged(story: Story, agent: AgentProcess): Promise<void> {
    const [first, second, dead] = boardsOf(story);
    await when(
      "the dead board is tainted",
      agent,
      async () => (await site.taints(dead)).includes("unreachable:NoExecute"),
      60,
    );
    for (const living of [first, second]) {
      expect(await site.taints(living)).toEqual([]);
      expect(await site.podNames()).toContain(podName(living));
    }
    expect(actsOfOthers(story)).toEqual([]);
  }

  test(`a leader that is suspended for ${suspension} s is replaced, and resumes as a follower without a write`, {
    timeout: (suspension + 170) * 1000,
  }, async () => {
    const first = board("suspended", "1");
    await when("the first leads", first, () => first.isReady, 60);
    const second = board("suspended", "2");
    await when("the second follows", second, () => second.status()?.leader?.role === "standby", 60);
    const before = held(first);
    first.suspend();
    const begun = performance.now();
    site.silence(boardsOf("suspended")[2]);
    await when("the second leads", second, () => second.isReady, 2 * lease + 25);
    await rest(suspension - (performance.now() - begun) / 1000);
    const term = second.status()?.leader?.term;
    const { pid } = first;
    first.resume();
    await when(
      "the first follows",
      first,
      () => first.status()?.leader?.holder?.startsWith("suspended-2") === true,
      40,
    );
    await expectJudged("suspended", second);
    expect([first.pid, first.leads, second.leads, second.status()?.leader?.term]).toEqual([pid, false, true, term]);
    expect(first.log()).toMatch(/term ended/);
    await expectReturned(first, before);
  });

  test("if two boards with copies of one card start at the same moment, only one of them leads", {
    timeout: 170_000,
  }, async () => {
    const { cluster } = site;
    const original = board("cloned", "1");
    await when("the original leads", original, () => original.isReady, 60);
    await original.stop("SIGKILL");
    // A second user, so that the server's audit log can distinguish the two.
    const kubeconfig = path.join(cluster.dir, "kubeconfig-of-the-clone");
    writeFileSync(kubeconfig, cluster.kubeconfigFor(cluster.server, { token: cluster.agentToken }));
    const dir = path.join(cluster.dir, "clone");
    cpSync(path.join(original.dir, "state"), path.join(dir, "cloned-1", "state"), { recursive: true });
    const clone = board("cloned", "1", { dir, kubeconfig });
    original.start();
    const both = [original, clone];
    await when("one of them leads", original, () => both.some((one) => one.isReady), 3 * lease + 30);
    const leader = clone.leads ? clone : original;
    const before = held(leader);
    site.silence(boardsOf("cloned")[2]);
    await expectJudged("cloned", leader);
    await rest(lease);
    expect(both.filter((one) => one.leads)).toEqual([leader]);
    // The other one takes over like any board, and its count of terms includes the former ones.
    const term = Number(leader.status()?.leader?.term);
    await expectReturned(leader, before);
    await leader.stop("SIGKILL");
    const other = leader === clone ? original : clone;
    await when("the other one leads", other, () => other.isReady, 3 * lease + 20);
    expect(other.status()?.leader?.term).toBe(term + 1);
    await expectJudged("cloned", other);
  });

  test.skipIf(lackOfMounts)(
    "when the leader's disk fills up, another board judges the dead one, and the first recovers once it has room",
    { timeout: 170_000 },
    async () => {
      const folder = mount(site.cluster.dir, "size=6m");
      const small = { cache: { decodedBytes: "64KiB", sqlite: { cacheKiB: 64 } }, state: { folder } };
      const full = board("full", "1", { config: small });
      try {
        await when("the first leads", full, () => full.isReady, 60);
        const second = board("full", "2");
        await when("the second follows", second, () => second.status()?.leader?.role === "standby", 60);
        const before = held(full);
        const { pid } = full;
        const filler = path.join(folder, "filler");
        const { bavail, bsize } = statfsSync(folder);
        writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - 8192)));
        site.silence(boardsOf("full")[2]);
        await when("the second leads", second, () => second.isReady, 60);
        expect(full.leads).toBe(false);
        await when(
          "the first reports why",
          full,
          () => /the disk is full|less than 1 MiB/.test(JSON.stringify(full.status()?.health)),
          30,
        );
        await expectJudged("full", second);
        unlinkSync(filler);
        await second.stop();
        await when("the first leads again", full, () => full.isReady, 90);
        expect([full.pid, full.running]).toEqual([pid, true]);
        await expectJudged("full", full);
        await expectReturned(full, before);
      } finally {
        await full.stop("SIGKILL");
        unmount(folder);
      }
    },
  );

  test.skipIf(missingCompiler())(
    "when the leader's clock falls back to 1970, its term continues, and new connections wait for the right time",
    { timeout: 170_000 },
    async () => {
      const { cluster } = site;
      const link = new FaultyLink(Number(new URL(cluster.server).port), 1);
      const port = await link.listen();
      const kubeconfig = path.join(cluster.dir, "kubeconfig-by-link");
      const server = `https://127.0.0.1:${port}`;
      const kube = JSON.parse(cluster.kubeconfigFor(server)) as object;
      writeFileSync(kubeconfig, JSON.stringify(kube));
      const wall = new WallClock(cluster.dir, "clocks-1");
      wall.set(-sinceEpoch);
      const agent = board("clocks", "1", { kubeconfig, through: wall.through });
      try {
        // To that board the server's certificate is not valid yet.
        await when(
          "it reports that the connection fails",
          agent,
          () => /not yet valid|clock/i.test(JSON.stringify(agent.status()?.health ?? "")),
          60,
        );
        expect(agent.leads).toBe(false);
        wall.set(0);
        await when("it leads once it has the time", agent, () => agent.isReady, 90);
        const before = held(agent);
        const term = agent.status()?.leader?.term;
        for (const step of [-sinceEpoch, 3600, -7200]) {
          wall.set(step);
          await rest(lease / 2);
          expect([agent.leads, agent.status()?.leader?.term]).toEqual([true, term]);
        }
        // Connections break while the clock shows 1970: nothing harmful follows, and with the right time the site is led again.
        wall.set(-sinceEpoch);
        link.reset();
        await when("it has stopped leading", agent, () => !agent.leads, 3 * lease);
        site.silence(boardsOf("clocks")[2]);
        wall.set(0);
        await when("it leads again", agent, () => agent.isReady, 90);
        await expectJudged("clocks", agent);
        await expectReturned(agent, before);
      } finally {
        await agent.stop("SIGKILL");
        await link.close();
      }
    },
  );
});
