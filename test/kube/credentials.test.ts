import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Authority, hasOpenssl } from "../agent/client/certificates.ts";
import { type AgentCondition, type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets, type PolicyRule } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fill } from "../support/load.ts";
import { siteward } from "../support/siteward-command.ts";

const leader = { duration: "6s", renewDeadline: "4s", retry: "1s" };

/** Waits for the condition that names the cause. Returns the time from the first status until then. */
async function conditionOf(
  agent: AgentProcess,
  type: string,
  seconds: number,
  subject?: string,
): Promise<AgentCondition> {
  const find = (): AgentCondition | undefined =>
    agent
      .status()
      ?.health.conditions.find((one) => one.type === type && (subject === undefined || one.subject === subject));
  await until("the first status", () => agent.status() !== undefined, 10);
  await until(
    `${type} ${subject ?? ""}`,
    () => find() !== undefined,
    seconds,
    () => tail(agent),
  );
  const condition = find();
  if (!condition) throw new Error("the condition was cleared again");
  return condition;
}

const tail = (agent: AgentProcess): string => agent.log().slice(-1500);

/** Checks that a message is a sentence for people: stated once, without words of the implementation. */
function expectOneSentence(message: string): void {
  expect(message).not.toMatch(/\bE[A-Z]{5,}\b|errno|syscall|node:|\bat .*\.js/);
  const phrases = message.split(": ");
  expect(new Set(phrases).size, message).toBe(phrases.length);
  expect(message.length).toBeLessThan(220);
}

const describeKube = describe.skipIf(missingAssets());

describeKube("credentials that cannot be used", () => {
  const site = new KubeSite();
  const plain: Server = createServer((_, response) => response.end("hello"));
  let authority: Authority | undefined;
  let boards = 0;

  beforeAll(async () => {
    await site.start();
    if (hasOpenssl()) authority = new Authority();
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
  });
  afterAll(async () => {
    plain.close();
    authority?.remove();
    await site.stop();
  });

  const portOf = (server: Server): number => (server.address() as AddressInfo).port;
  const expired = () => authority?.issue("agent", { to: "250101000000Z" });

  test.for<[what: string, type: string, sentence: RegExp, code: number, spoil: (file: string) => void]>([
    ["is missing", "CredentialsInvalid", /^kubeconfig \S+ does not exist/, 2, (file) => rmSync(file, { force: true })],
    ["is a folder", "CredentialsInvalid", /^kubeconfig \S+ is a folder/, 2, (file) => mkdirSync(file)],
    [
      "is not YAML",
      "CredentialsInvalid",
      /^kubeconfig \S+ is not YAML: /,
      2,
      (file) => writeFileSync(file, "a: [b\nc: }"),
    ],
    [
      "has a client certificate that has expired",
      "CredentialsInvalid",
      /the client certificate expired on 2025-01-01T00:00Z/,
      2,
      (file) => {
        const { cert, key } = expired() ?? { cert: "", key: "" };
        const data = (pem: string): string => Buffer.from(pem).toString("base64");
        const user = { "client-certificate-data": data(cert), "client-key-data": data(key) };
        writeFileSync(file, site.cluster.kubeconfigFor(site.cluster.server, user));
      },
    ],
    [
      "names another authority",
      "ServerNotTrusted",
      /its certificate is signed by an authority that this board does not trust/,
      2,
      (file) =>
        writeFileSync(file, site.cluster.kubeconfigFor(site.cluster.server, { token: "x" }, authority?.ca ?? "")),
    ],
    [
      "names a port that speaks plain HTTP",
      "ServerNotTrusted",
      /it does not speak TLS on this port/,
      2,
      (file) => writeFileSync(file, site.cluster.kubeconfigFor(`https://127.0.0.1:${portOf(plain)}`)),
    ],
    [
      "names an unknown host",
      "ApiUnreachable",
      /its host name is unknown|no name server responds/,
      1,
      (file) => writeFileSync(file, site.cluster.kubeconfigFor("https://no-such-host.invalid:6443")),
    ],
    [
      "names a closed port",
      "ApiUnreachable",
      /the connection was refused/,
      1,
      (file) => writeFileSync(file, site.cluster.kubeconfigFor("https://127.0.0.1:9")),
    ],
    [
      "holds a token that the server does not know",
      "CredentialsInvalid",
      /the API server does not accept our credentials/,
      2,
      (file) => writeFileSync(file, site.cluster.kubeconfigFor(site.cluster.server, { token: "stale" })),
    ],
  ])("a kubeconfig that %s is reported within two seconds, and the agent leads once it is corrected", async (row) => {
    const [, type, sentence, code, spoil] = row;
    const board = `pi-${++boards}`;
    const file = path.join(site.cluster.dir, `kubeconfig-${board}`);
    spoil(file);
    // The shipped intervals of the status: only news is written at once.
    const agent = site.agent(board, { leader, status: { minInterval: "10s" } }, file);
    const condition = await conditionOf(agent, type, 2);
    expect(condition.message).toMatch(sentence);
    expectOneSentence(condition.message);
    expect(condition.hint).toBeTruthy();
    expect(agent.status()?.health.conditions).toHaveLength(1);

    const printed = await siteward(["status", "--file", agent.statusFile]);
    expect(printed.code).toBe(code);
    expect(printed.stdout).toContain(type);
    const lines = agent
      .log()
      .split("\n")
      .filter((line) => / (warn|error) /.test(line));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/API server not reached reason=.* hint=/);

    rmSync(file, { recursive: true, force: true });
    writeFileSync(file, site.cluster.kubeconfigFor(site.cluster.server));
    await until(
      "it leads",
      () => agent.leads,
      20,
      () => tail(agent),
    );
    await until("all is well", () => agent.status()?.health.conditions.length === 0, 15);
    await agent.stop();
  });

  test("an API server that comes up later is found", async () => {
    const agent = site.agent("pi-late", { leader });
    await until("it leads", () => agent.leads, 20);
    await site.cluster.killApi();
    await conditionOf(agent, "ApiUnreachable", 10);
    await site.cluster.startApi();
    await until("it leads again", () => agent.leads && agent.status()?.health.level === "ok", 30);
    await agent.stop();
  });
});

const rule = (group: string, resources: string, verbs: string): PolicyRule => ({
  apiGroups: [group],
  resources: resources.split(" "),
  verbs: verbs.split(" "),
});

/** The permissions that the agent needs. */
const needed = [
  rule("coordination.k8s.io", "leases", "get list watch create patch"),
  rule("", "nodes", "get list watch patch"),
  rule("", "nodes/status", "patch"),
  rule("", "pods", "list watch delete"),
  rule("", "pods/status", "patch"),
  rule("", "events", "create patch"),
];

const without = (verb: string, resource: string): readonly PolicyRule[] =>
  needed
    .map((one) =>
      one.resources.includes(resource) ? { ...one, verbs: one.verbs.filter((each) => each !== verb) } : one,
    )
    .filter(({ verbs }) => verbs.length > 0);

describeKube("a user without some permissions", () => {
  const site = new KubeSite();
  let boards = 0;
  let kubeconfig = "";

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 3, pods: 24, seed: 1 });
    site.beat(0, 1, 2);
    kubeconfig = path.join(site.cluster.dir, "kubeconfig-of-the-agent");
    writeFileSync(kubeconfig, site.cluster.kubeconfigFor(site.cluster.server, { token: site.cluster.agentToken }));
    await site.cluster.grant([]);
  });
  afterEach(async () => {
    for (const agent of site.agents.splice(0)) await agent.stop("SIGKILL");
  });
  afterAll(() => site.stop());

  const start = async (): Promise<AgentProcess> => {
    await forgetSites();
    const board = `pi-${++boards}`;
    // Each agent is a site of its own, so that it creates its own Lease; the judged boards do not matter here.
    return site.agent(
      board,
      {
        leader: { ...leader, namespace: "kube-system" },
        site: { name: board, nodeSelector: `kubernetes.io/os=linux,not-of!=${board}` },
        nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "3s", startupGracePeriod: "3s", evictionRate: 10 },
        judgement: { policy: "kubernetes" },
      },
      kubeconfig,
    );
  };

  /** Deletes the Leases of older sites, whose claims would win the boards. */
  const forgetSites = () =>
    site.cluster.request(
      "DELETE",
      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=app.kubernetes.io/managed-by=siteward",
    );

  test("with exactly these permissions the agent leads without a problem", async () => {
    await site.cluster.grant(needed);
    const agent = await start();
    await until(
      "it is ready",
      () => agent.isReady,
      20,
      () => tail(agent),
    );
    await new Promise((resolve) => setTimeout(resolve, 2000));
    expect(agent.status()?.health.conditions.filter(({ type }) => type !== "WorkloadsNotRun")).toEqual([]);
    await agent.stop();
  });

  const missing = (agent: AgentProcess, verb: string, resource: string): AgentCondition | undefined =>
    agent
      .status()
      ?.health.conditions.find(
        ({ type, message }) =>
          type === "PermissionMissing" && message.includes(`is not allowed to ${verb} ${resource}`),
      );

  /** Starts an agent without the permission; `provoke` causes work that needs it. */
  async function expectTold(verb: string, resource: string, provoke?: () => unknown): Promise<AgentProcess> {
    await site.cluster.grant(without(verb, resource));
    // The server needs a moment to load the roles.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const agent = await start();
    if (provoke) {
      await until("it is ready", () => agent.isReady, 20);
      await provoke();
    }
    const isTold = (): boolean => missing(agent, verb, resource) !== undefined;
    await until("PermissionMissing", isTold, 15, () => tail(agent));
    const { message, hint } = missing(agent, verb, resource) ?? { message: "", hint: "" };
    const group = resource === "leases" ? "coordination.k8s.io" : "";
    expect(message).toMatch(new RegExp(`^user agent is not allowed to ${verb} ${resource}( in namespace \\S+)?$`));
    expect(hint).toContain(`apiGroups ["${group}"], resources ["${resource}"], verbs ["${verb}"]`);
    // Its consequences are not reported as well.
    const expected = ["PermissionMissing", "WorkloadsNotRun", "ZoneDisrupted", "BoardsLost"];
    const others = agent.status()?.health.conditions.filter(({ type }) => !expected.includes(type));
    expect(others?.map(({ type, message }) => `${type}: ${message}`)).toEqual([]);
    return agent;
  }

  test.for<[verb: string, resource: string, provoke?: () => unknown]>([
    ["get", "leases"],
    ["create", "leases"],
    ["patch", "leases"],
    ["list", "nodes"],
    ["watch", "nodes"],
    ["list", "pods"],
    ["watch", "pods"],
    ["patch", "nodes/status", () => site.silence(0)],
  ])(
    "a missing permission to %s %s is reported, and the agent resumes without a restart once it is granted",
    async ([verb, resource, provoke]) => {
      const agent = await expectTold(verb, resource, provoke);
      await site.cluster.grant(needed);
      const isWell = (): boolean => agent.isReady && missing(agent, verb, resource) === undefined;
      await until("the problem is cleared", isWell, 40, () => tail(agent));
      site.beat(0);
    },
  );

  test("a missing permission to delete pods is reported, as is one for Events", async () => {
    const pods = await expectTold("delete", "pods", () =>
      taint(site, 1, [{ key: "maintenance", effect: "NoExecute" }]),
    );
    expect(pods.status()?.health.level).toBe("critical");
    // Otherwise it would create its Lease again and claim the boards of the next site.
    await pods.stop("SIGKILL");
    const events = await expectTold("create", "events");
    expect(events.status()?.health.level).toBe("degraded");
  });
});

const taint = (site: KubeSite, board: number, taints: readonly object[]): Promise<unknown> =>
  site.cluster.request(
    "PATCH",
    `/api/v1/nodes/${boardName(board)}`,
    { spec: { taints } },
    "application/merge-patch+json",
  );
