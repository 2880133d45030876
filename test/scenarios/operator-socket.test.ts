import { readFileSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import { expect, test } from "vitest";
import { parseExposition } from "../agent/commands/operator-api/parse-exposition.ts";
import { until } from "../support/agent-process.ts";
import { LinkedSite } from "../support/links/linked-site.ts";

const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  status: { minInterval: "200ms", every: "1s" },
};

interface Told {
  readonly status: number | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

const socketOf = (site: LinkedSite): string => path.join(site.agent.dir, "run/ctl.sock");

/** Sends a request like curl; `undefined` if the socket does not answer. */
const post = (site: LinkedSite, command: object): Promise<Told | undefined> =>
  new Promise((resolve) => {
    const asked = request({ socketPath: socketOf(site), path: "/v1/cmd", method: "POST", agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("end", () => resolve({ status: response.statusCode, body: text === "" ? {} : JSON.parse(text) }));
    });
    asked.once("error", () => resolve(undefined));
    asked.end(JSON.stringify({ v: 1, by: "local:0", ...command }));
  });

const frozen = async (site: LinkedSite): Promise<unknown> => {
  const answer = await post(site, {
    id: `S${Math.random().toString(36).slice(2)}`,
    name: "status.get",
    args: { detail: "full" },
  });
  const holds = (answer?.body.result as { readonly holds?: { readonly freezes: readonly unknown[] } } | undefined)
    ?.holds;
  return holds?.freezes.length;
};

test("a command on the board survives kill -9 and a restart, and its repetition gets the same answer", async () => {
  const site = await new LinkedSite({ config }).start();
  const { agent } = site;
  try {
    await until("the board leads", () => agent.isReady, 60);
    const freeze = { id: "F1", name: "eviction.freeze", args: { ttl: 3600 }, reason: "radio maintenance" };
    const first = await post(site, freeze);
    expect(first).toMatchObject({ status: 200, body: { state: "succeeded", board: "pi-1" } });
    await until("the freeze is in the metrics", async () => (await frozen(site)) === 1, 10);

    // The socket's file is left behind, and the answer is in the log of commands.
    await agent.stop("SIGKILL");
    agent.start();
    await until("the socket answers again", async () => (await post(site, freeze)) !== undefined, 30);
    expect(await post(site, freeze)).toEqual({ status: 200, body: { ...first?.body, replayed: true } });
    expect(await post(site, { ...freeze, args: { ttl: 60 } })).toMatchObject({
      status: 409,
      body: { error: "id-reused" },
    });
    await until("the next term has the freeze", async () => agent.isReady && (await frozen(site)) === 1, 60);

    // The process accepts the restart command, and its successor answers it.
    const restart = { id: "R1", name: "agent.restart", reason: "a new certificate" };
    const before = agent.pid;
    expect(await post(site, restart)).toMatchObject({ status: 202, body: { state: "accepted" } });
    await until("the process exits", () => !agent.running, 10);
    expect(agent.exitCode).toBe(0);
    agent.start();
    expect(agent.pid).not.toBe(before);
    await until(
      "the next process answers",
      async () => (await post(site, restart))?.body.state === "succeeded",
      30,
      () => agent.log(),
    );
  } finally {
    await site.stop();
  }
});

test("the metrics file is next to the status file, is always complete, and is written as often", async () => {
  const site = await new LinkedSite({ config }).start();
  const { agent } = site;
  const file = path.join(agent.dir, "run/metrics.prom");
  const leads = () => parseExposition(readFileSync(file, "utf8")).get("siteward_leader")?.samples[0]?.value;
  try {
    await until("the board leads", () => agent.isReady, 60);
    await until("the metrics show it", () => leads() === 1, 10);
    const texts = new Set<string>();
    await until(
      "they were written ten times",
      () => {
        const text = readFileSync(file, "utf8");
        expect(parseExposition(text).size).toBeGreaterThan(30);
        return texts.add(text).size > 10;
      },
      40,
    );
  } finally {
    await site.stop();
  }
});
