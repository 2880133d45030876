import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { response } from "../../simulator/site-api/requests/exchange.ts";
import { Authority, hasOpenssl } from "../agent/client/certificates.ts";
import { type AgentCondition, until } from "../support/agent-process.ts";
import { boardsOnly } from "../support/boards-only.ts";
import { TlsFront } from "../support/kube/tls-front.ts";
import { LinkedSite, type LinkedSiteOptions } from "../support/links/linked-site.ts";
import { rest } from "../support/rest.ts";

/** A leader with kube-controller-manager's rules, and periods so short that a few seconds without heartbeats matter. */
const quick = {
  leader: { duration: "9s", renewDeadline: "6s", retry: "1s" },
  link: { blip: "2s", watchStall: "20s" },
  client: { timeouts: { read: "5s", write: "5s", list: "30s" } },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "6s", evictionRate: 10 },
  judgement: { policy: "kubernetes" },
  controllers: boardsOnly,
};
/** The defaults of the link: a lost link is reported within 90 s. */
const { leader: _, link: __, client: ___, controllers: ____, ...asShipped } = quick;
const detection = 90;

interface Story extends Partial<LinkedSiteOptions> {
  /** Runs before the agent lists the site for the first time. */
  readonly before?: (site: LinkedSite) => Promise<void>;
  readonly play: (site: LinkedSite) => Promise<void>;
  readonly skip?: boolean;
}

/** Plays a story on a site of living boards. Whatever happens to the link, no board is harmed and no change is missed. */
function story(title: string, { before, play, skip = false, ...options }: Story): void {
  test.concurrent(title, { timeout: 240_000, skip }, async () => {
    const site = await new LinkedSite({ config: quick, ...options }).start();
    const log = (): string => site.agent.log().slice(-3000);
    try {
      await before?.(site);
      await until("the agent leads and its caches are current", () => site.agent.isReady, 60, log);
      // The next renewal confirms the lists: if the link breaks before that, the agent lists again.
      await rest(2);
      await play(site);
      site.link.set({});
      await until("its caches are current again", () => site.agent.isReady, 90, log);
      expect(await site.differences()).toEqual([]);
      expect(site.harm).toEqual([]);
    } finally {
      await site.stop();
    }
  });
}

const isTold = (site: LinkedSite): boolean => {
  const status = site.agent.status();
  return status !== undefined && (status.link?.api.state !== "up" || status.health.level !== "ok");
};

const problemOf = (site: LinkedSite, type: string): AgentCondition | undefined =>
  site.agent.status()?.health.conditions.find((one) => one.type === type);

const folder = mkdtempSync(path.join(os.tmpdir(), "siteward-hosts-"));
const hosts = path.join(folder, "hosts");
writeFileSync(hosts, "127.0.0.1 localhost\n");
afterAll(() => rmSync(folder, { recursive: true }));

/** Giving a process its own hosts file needs a mount, which only root may create. */
function canUnshare(): boolean {
  try {
    execFileSync("unshare", ["--mount", "true"], { stdio: "pipe" });
    return true;
  } catch {
    console.warn("skipped: a name that cannot be resolved, because this user may not mount");
    return false;
  }
}

describe("a faulty link does not harm any board", () => {
  story("when it is silent for half a minute, which is reported, and the watches resume", {
    async play(site) {
      const lists = site.lists("pods");
      site.link.set({ silent: true });
      await until("the silence is reported", () => isTold(site), detection);
      await rest(30);
      site.link.set({});
      await until("it leads again", () => site.agent.isReady, 60);
      expect(site.lists("pods")).toBe(lists);
    },
  });

  story("when connections are reset repeatedly, without a single list", {
    async play(site) {
      const lists = { pods: site.lists("pods"), nodes: site.lists("nodes") };
      for (let count = 0; count < 12; count++) {
        site.link.reset();
        await rest(2);
      }
      // By then a stream waits up to a minute before its next attempt, like client-go's.
      await until("it leads", () => site.agent.isReady, 90);
      expect({ pods: site.lists("pods"), nodes: site.lists("nodes") }).toEqual(lists);
      // Each renewal gets a connection, so the term lasts.
      expect(site.agent.log()).not.toContain("term ended");
    },
  });

  story("when connections are refused for half a minute", {
    async play(site) {
      site.link.set({ refused: true });
      site.link.reset();
      await until("this is reported", () => isTold(site), 15);
      await rest(30);
    },
  });

  story("when a router drops the state of connections, which is detected within 90 s with the shipped settings", {
    config: asShipped,
    async play(site) {
      const lists = site.lists("pods");
      const watched = ["nodes", "pods", "leases"];
      const before = watched.map((plural) => site.watches(plural));
      site.link.forget();
      const isOpenedAnew = (): boolean =>
        watched.every((plural, index) => site.watches(plural) > (before[index] ?? Number.POSITIVE_INFINITY));
      // Plus the pause before a new attempt, and the attempt.
      const opened = (): string => JSON.stringify(watched.map((plural) => [plural, site.watches(plural)]));
      await until(
        "every watch is opened again",
        isOpenedAnew,
        detection + 6,
        () => `${opened()} ${site.agent.log().slice(-3000)}`,
      );
      expect(site.lists("pods")).toBe(lists);
    },
  });

  story("when three of ten segments are lost", {
    async play(site) {
      site.link.set({ loss: 0.3 });
      await rest(40);
    },
  });

  story("when a round trip takes two seconds", {
    async play(site) {
      site.link.set({ delay: 1000 });
      await rest(40);
      expect(site.agent.leads).toBe(true);
    },
  });

  story("when it carries a thousand bytes a second", {
    config: {
      ...asShipped,
      nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "20s", evictionRate: 10 },
    },
    beat: 5000,
    async play(site) {
      site.link.set({ bytesPerSecond: 1000 });
      await rest(60);
      expect(site.agent.leads).toBe(true);
    },
  });

  story("when the name of the API server cannot be resolved for a while", {
    skip: !canUnshare(),
    host: "api.site.test",
    through: ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts],
    async before(site) {
      await until("it reports the missing name", () => problemOf(site, "ApiUnreachable") !== undefined, 30);
      expect(problemOf(site, "ApiUnreachable")?.message).toMatch(/api\.site\.test/);
      writeFileSync(hosts, "127.0.0.1 localhost api.site.test\n");
    },
    async play(site) {
      writeFileSync(hosts, "127.0.0.1 localhost\n");
      site.link.reset();
      await until("the loss is reported", () => isTold(site), detection);
      await rest(10);
      writeFileSync(hosts, "127.0.0.1 localhost api.site.test\n");
    },
  });

  const authority = hasOpenssl() ? new Authority() : undefined;
  const valid = authority?.issue("api");
  const early = authority?.issue("api", { from: "400101000000Z" });
  const front = early && new TlsFront(early);
  afterAll(() => authority?.remove());
  story("when the API server's certificate is not yet valid by this board's clock, and later becomes valid", {
    skip: !front,
    ...(front && authority && { tls: { front, ca: authority.ca } }),
    async before(site) {
      await until("it is reported", () => problemOf(site, "ServerNotTrusted") !== undefined, 30);
      expect(problemOf(site, "ServerNotTrusted")?.message).toMatch(/not yet valid/);
      if (valid) front?.present(valid);
    },
    async play(site) {
      if (early) front?.present(early);
      site.link.reset();
      await until("it is reported again", () => problemOf(site, "ServerNotTrusted") !== undefined, detection);
      await rest(10);
      if (valid) front?.present(valid);
    },
  });

  let storm = false;
  let refused = 0;
  story("when the API server answers 429 to nine of ten requests, and the agent sends fewer requests, not more", {
    instead: ({ method }) => {
      if (!storm || refused++ % 10 === 9) return undefined;
      const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "TooManyRequests", code: 429 };
      return method === "OPTIONS" ? undefined : response(429, JSON.stringify(status), { "retry-after": "1" });
    },
    async play(site) {
      storm = true;
      site.link.reset();
      await rest(30);
      expect(refused).toBeGreaterThan(5);
      expect(refused).toBeLessThan(30 * 5);
      storm = false;
    },
  });
});
