import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { response } from "../../simulator/site-api/exchange.ts";
import { Authority, hasOpenssl } from "../agent/client/certificates.ts";
import { type AgentCondition, until } from "../support/agent-process.ts";
import { boardsOnly } from "../support/boards-only.ts";
import { LinkedSite, type LinkedSiteOptions } from "../support/linked-site.ts";
import { rest } from "../support/rest.ts";
import { TlsFront } from "../support/tls-front.ts";

/** A leader that judges by kube-controller-manager's rules, and so quickly that deafness of a few seconds would tell. */
const quick = {
  leader: { duration: "9s", renewDeadline: "6s", retry: "1s" },
  link: { blip: "2s", watchStall: "20s" },
  client: { timeouts: { read: "5s", write: "5s", list: "30s" } },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "6s", evictionRate: 10 },
  judgement: { policy: "kubernetes" },
  controllers: boardsOnly,
};
/** The defaults of the link: a lost link is told within 90 s. */
const { leader: _, link: __, client: ___, controllers: ____, ...asShipped } = quick;
const detection = 90;

interface Story extends Partial<LinkedSiteOptions> {
  /** Before the agent has seen the site for the first time. */
  readonly before?: (site: LinkedSite) => Promise<void>;
  readonly play: (site: LinkedSite) => Promise<void>;
  readonly skip?: boolean;
}

/** Plays a story on a site whose boards all live. Whatever the link did, nobody is harmed and nothing was missed. */
function story(title: string, { before, play, skip = false, ...options }: Story): void {
  test.concurrent(title, { timeout: 240_000, skip }, async () => {
    const site = await new LinkedSite({ config: quick, ...options }).start();
    const log = (): string => site.agent.log().slice(-3000);
    try {
      await before?.(site);
      await until("the agent leads and sees the site", () => site.agent.isReady, 60, log);
      // Its next renewal proves what it has just listed: a link that breaks before that costs the lists once more.
      await rest(2);
      await play(site);
      site.link.set({});
      await until("it sees the site again", () => site.agent.isReady, 90, log);
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

/** A process with a host table of its own needs a mount of its own, which only root may make. */
function canUnshare(): boolean {
  try {
    execFileSync("unshare", ["--mount", "true"], { stdio: "pipe" });
    return true;
  } catch {
    console.warn("left out: a name that cannot be resolved, because this user may not have mounts of its own");
    return false;
  }
}

describe("a link that lies harms nobody", () => {
  story("when it is silent for half a minute, which is told, and goes on where it was", {
    async play(site) {
      const lists = site.lists("pods");
      site.link.set({ silent: true });
      await until("the silence is told", () => isTold(site), detection);
      await rest(30);
      site.link.set({});
      await until("it leads again", () => site.agent.isReady, 60);
      expect(site.lists("pods")).toBe(lists);
    },
  });

  story("when connections are reset again and again, without a single list", {
    async play(site) {
      const lists = { pods: site.lists("pods"), nodes: site.lists("nodes") };
      for (let count = 0; count < 12; count++) {
        site.link.reset();
        await rest(2);
      }
      // By then a stream waits up to a minute for its next try, as client-go's do.
      await until("it leads", () => site.agent.isReady, 90);
      expect({ pods: site.lists("pods"), nodes: site.lists("nodes") }).toEqual(lists);
      // Each renewal finds a connection: the term outlives them all.
      expect(site.agent.log()).not.toContain("term ended");
    },
  });

  story("when connections are refused for half a minute", {
    async play(site) {
      site.link.set({ refused: true });
      site.link.reset();
      await until("this is told", () => isTold(site), 15);
      await rest(30);
    },
  });

  story("when a router forgot the connections, with the settings as shipped: found out within 90 s", {
    config: asShipped,
    async play(site) {
      const lists = site.lists("pods");
      const watched = ["nodes", "pods", "leases"];
      const before = watched.map((plural) => site.watches(plural));
      site.link.forget();
      const isOpenedAnew = (): boolean =>
        watched.every((plural, index) => site.watches(plural) > (before[index] ?? Number.POSITIVE_INFINITY));
      // The pause before a new try comes on top.
      await until("every watch is opened anew", isOpenedAnew, detection + 2);
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
      await until("it says what is missing", () => problemOf(site, "ApiUnreachable") !== undefined, 30);
      expect(problemOf(site, "ApiUnreachable")?.message).toMatch(/api\.site\.test/);
      writeFileSync(hosts, "127.0.0.1 localhost api.site.test\n");
    },
    async play(site) {
      writeFileSync(hosts, "127.0.0.1 localhost\n");
      site.link.reset();
      await until("the loss is told", () => isTold(site), detection);
      await rest(10);
      writeFileSync(hosts, "127.0.0.1 localhost api.site.test\n");
    },
  });

  const authority = hasOpenssl() ? new Authority() : undefined;
  const valid = authority?.issue("api");
  const early = authority?.issue("api", { from: "400101000000Z" });
  const front = early && new TlsFront(early);
  afterAll(() => authority?.remove());
  story("when the certificate of the API server is not yet valid by this board's clock, and later is", {
    skip: !front,
    ...(front && authority && { tls: { front, ca: authority.ca } }),
    async before(site) {
      await until("it says so", () => problemOf(site, "ServerNotTrusted") !== undefined, 30);
      expect(problemOf(site, "ServerNotTrusted")?.message).toMatch(/not yet valid/);
      if (valid) front?.present(valid);
    },
    async play(site) {
      if (early) front?.present(early);
      site.link.reset();
      await until("it says so again", () => problemOf(site, "ServerNotTrusted") !== undefined, detection);
      await rest(10);
      if (valid) front?.present(valid);
    },
  });

  let storm = false;
  let refused = 0;
  story("when the API server answers 429 to nine of ten requests: it is asked less, not more", {
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
