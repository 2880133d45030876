import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort, lackOfMosquitto } from "../support/broker/mosquitto.ts";
import { blocks, blockWith, commandOf, pasted } from "../support/operator-docs.ts";

const root = path.resolve(import.meta.dirname, "../..");
const lack = lackOfMosquitto();
const clients = existsSync("/usr/bin/mosquitto_pub") && existsSync("/usr/bin/mosquitto_sub");
if (!clients) console.warn("skipped: mosquitto_pub and mosquitto_sub of docs/operator.md: they are not installed");

describe.skipIf(lack)("the fleet of docs/operator.md", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-docs-"));
  const at = (name: string): string => path.join(folder, name);
  let broker: ChildProcess;
  let port = 0;

  const shell = (script: string): string =>
    pasted(script, { cwd: folder, env: { PATH: `${folder}/bin:${process.env.PATH}` } });

  /** A script of the page with the names and paths of this test. */
  const here = (text: string): string =>
    text.replaceAll("broker.site.example", "localhost").replaceAll("8883", String(port));

  beforeAll(async () => {
    port = await freePort();
    shell(
      `mkdir bin && printf '#!/bin/sh\\nexec ${process.execPath} ${root}/agent/main.ts "$@"\\n' > bin/siteward && chmod +x bin/siteward`,
    );
    shell(here(blockWith("sh", "openssl")));
    shell(
      "openssl ecparam -name prime256v1 -genkey -noout -out ops.key; openssl req -new -key ops.key -subj /CN=ops -out ops.csr",
    );
    shell("openssl x509 -req -in ops.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out ops.crt");
    shell(blockWith("sh", "siteward broker-acl"));
    const [conf = ""] = blocks("").filter((text) => text.includes("per_listener_settings"));
    shell("mkdir conf.d");
    writeFileSync(
      at("conf.d/siteward.conf"),
      here(conf).replaceAll("/etc/mosquitto/certs", folder).replaceAll("/etc/mosquitto", folder),
    );
    // Like Debian's, which refuses repeated settings. As root it would become another user, who cannot read these
    // files.
    writeFileSync(
      at("mosquitto.conf"),
      `persistence true\npersistence_location ${folder}/\ninclude_dir ${folder}/conf.d\nuser root\nlog_type all\n`,
    );
    broker = spawn("/usr/sbin/mosquitto", ["-c", at("mosquitto.conf")], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    broker.stderr?.on("data", (text: Buffer) => {
      said += text;
    });
    for (let tries = 0; tries < 100 && !said.includes("running"); tries++) {
      if (broker.exitCode !== null) throw new Error(said);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  afterAll(async () => {
    if (broker?.exitCode === null) {
      const gone = new Promise((resolve) => broker.once("exit", resolve));
      broker.kill();
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  });

  test("a board is enrolled with the certificates that the page creates", () => {
    const data = readFileSync(at("ca.crt")).toString("base64");
    const cluster = { server: "https://127.0.0.1:9", "certificate-authority-data": data };
    const context = { cluster: "a", user: "a" };
    const parts = { clusters: [{ name: "a", cluster }], users: [{ name: "a", user: { token: "t0ken-of-a-test" } }] };
    writeFileSync(
      at("plant7.yaml"),
      JSON.stringify({ ...parts, contexts: [{ name: "a", context }], "current-context": "a" }),
    );
    const command = commandOf(blockWith("sh", "--mqtt mqtts://"), "sudo siteward enroll").replace("sudo ", "");
    shell(`mkdir -p ${folder}/card/etc ${folder}/card/usr`);
    const said = shell(`${here(command)} --root ${folder}/card`);
    expect(said).toContain("20-fleet.conf");
    expect(said).toMatch(/not checked against the API server/);
  });

  test.skipIf(!clients)("an operator's command reaches the board and no other", async () => {
    const page = here(blockWith("sh", "mosquitto_pub"));
    const board = (name: string): string =>
      `mosquitto_sub -V 5 -h localhost -p ${port} --cafile ca.crt --cert ${name}.crt --key ${name}.key -q 1 -v -W 5 -C 1 -t 'sw1/acme/plant7/${name}/cmd/#'`;
    const subscriber = spawn("bash", ["-c", board("edge-02")], { cwd: folder });
    let text = "";
    subscriber.stdout.on("data", (part: Buffer) => {
      text += part;
    });
    const ended = new Promise((resolve) => subscriber.once("exit", resolve));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    shell(commandOf(page, "mosquitto_pub"));
    await ended;
    expect(text).toBe(
      'sw1/acme/plant7/edge-02/cmd/ping/01JCZK6QK2R6 {"v":1,"id":"01JCZK6QK2R6","name":"ping","args":{}}\n',
    );
    // The operator may subscribe, and receives nothing without a board.
    const { status } = spawnSync("bash", ["-c", `${commandOf(page, "mosquitto_sub")} -W 1`], { cwd: folder });
    expect(status).toBe(27);
  });

  test("a command is signed with the key pair that the page creates", () => {
    const lines = blockWith("sh", "siteward keygen")
      .split("\n")
      .filter((line) => !line.startsWith("sudo install"));
    const said = shell(lines.join("\n"));
    expect(said).toMatch(/^[\w-]{86}$/m);
    expect(existsSync(at("keys/ops.pub"))).toBe(true);
  });
});
