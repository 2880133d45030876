import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { witnessAnnotation } from "../../agent/witness/announcement.ts";
import { until } from "../support/agent-process.ts";
import { Board, root, whyNoHost } from "./board.ts";

const api = "http://127.0.0.1:6440";

describe.skipIf(whyNoHost !== undefined)("the LAN under a real systemd", () => {
  let board: Board;
  let announcement = "";

  beforeAll(async () => {
    board = await Board.make();
    await board.host.sh("ln -s /usr/lib/siteward/bin/node /usr/local/bin/node24");
    // pi-2 is on the LAN, and cannot reach the API server.
    await board.host.sh(`
      ip netns add pi-2 && ip link add lan0 type veth peer name eth0 netns pi-2
      ip addr add 10.99.0.1/24 dev lan0 && ip link set lan0 up
      ip -n pi-2 addr add 10.99.0.2/24 dev eth0 && ip -n pi-2 link set eth0 up && ip -n pi-2 link set lo up
      systemd-run --quiet --unit=pi-2 --property=StandardOutput=file:/run/pi-2.json ${onPi2("answer pi-2 10.99.0.2")}`);
    const said = async (): Promise<boolean> => (await board.host.sh("cat /run/pi-2.json")) !== "";
    await until("pi-2 answers", said, 30);
    announcement = await board.host.sh("cat /run/pi-2.json");
  });

  afterAll(() => board?.end());

  beforeEach(async () => {
    await board.reset();
    await board.site();
    await board.configure({
      judgement: { witness: "lan" },
      nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "16s", startupGracePeriod: "16s" },
    });
    for (const name of ["pi-1", "pi-2"]) await restoreNode(name);
  });

  const onPi2 = (words: string): string =>
    `ip netns exec pi-2 "$(readlink -f '${process.execPath}')" '${path.join(root, "test/systemd/lan-board.ts")}' ${words}`;

  async function restoreNode(name: string): Promise<void> {
    const annotations = name === "pi-2" ? { [witnessAnnotation]: announcement } : {};
    const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime: new Date().toISOString() }];
    const node = { apiVersion: "v1", kind: "Node", metadata: { name, annotations }, status: { conditions } };
    await board.host.run(`curl -s -X DELETE ${api}/api/v1/nodes/${name}`);
    await board.host.write("/run/node.json", JSON.stringify(node));
    await board.host.sh(
      `curl -sf -X POST -H 'content-type: application/json' --data @/run/node.json ${api}/api/v1/nodes`,
    );
  }

  const announcementOf = async (name: string): Promise<string | undefined> =>
    JSON.parse(await board.host.sh(`curl -sf ${api}/api/v1/nodes/${name}`)).metadata.annotations?.[witnessAnnotation];

  async function expectToAskAndAnswer(): Promise<void> {
    await board.start();
    await board.untilStatus("it leads", ({ leader, health }) => leader?.role === "leader" && health.ready);
    const why = async (): Promise<string> =>
      (await board.host.run("node24 /usr/lib/siteward/dist/main.js why node/pi-2")).stdout;
    await until("pi-2 is cut off, as it says itself", async () => (await why()).includes("it answers on the LAN"), 90);
    await until("pi-1 has announced itself", async () => (await announcementOf("pi-1")) !== undefined, 60);
    const own = (await announcementOf("pi-1")) ?? "";
    expect(JSON.parse(own).addresses).toContain("10.99.0.1");
    expect(await board.host.sh(onPi2(`ask pi-1 '${own}'`))).toBe("pi-1: kubelet unknown");
    const status = await board.status();
    expect(status?.health.conditions.filter(({ type }) => type === "WitnessUnusable")).toEqual([]);
  }

  test("as shipped, a leader hears a silent board, and answers others", async () => {
    await expectToAskAndAnswer();
  });

  test("so does a hardened one, whose addresses `siteward harden` took from the board's own networks", async () => {
    await board.host.sh("node24 /usr/lib/siteward/dist/main.js harden --write");
    await board.host.sh("systemctl daemon-reload");
    await expectToAskAndAnswer();
  });
});
