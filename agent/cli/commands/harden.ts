import { lookup } from "node:dns/promises";
import { mkdirSync } from "node:fs";
import { isIP } from "node:net";
import { exit } from "../../base/exit-codes.ts";
import type { Io, Run } from "../../base/io.ts";
import { silent } from "../../base/logger.ts";
import { localNetworks } from "../../board/local-networks.ts";
import { readFact } from "../../board/read-fact.ts";
import { askedCredentials } from "../../process/api-access.ts";
import { configOf } from "../../process/load-config.ts";
import { type Allowed, hardenedDropIn, hardenedFile, hardenedRoot } from "./hardened-drop-in.ts";
import { writeSystemFile } from "./system-file.ts";

/** `siteward harden`: prints or writes the drop-in that restricts the service to this board and its peers. */
export const run: Run = async (io, args) => {
  const hosts = await peersOf(io, args.values.get("config"));
  const allowed: Allowed[] = [];
  for (const { host, whose } of hosts) {
    const addresses = await addressesOf(host);
    if (addresses.length === 0) {
      io.stderr.line(`siteward: ${whose}, ${host}, has no address that can be found now`);
      io.stderr.line("  Nothing is written: the agent could not reach it. Try again when names can be looked up.");
      return exit.failed;
    }
    allowed.push(...addresses.map((address) => ({ address, whose: `${whose}: ${host}` })));
  }
  // Without host names no name server is needed.
  const servers = hosts.some(({ host }) => isIP(host) === 0) ? nameServers(readFact("/etc/resolv.conf") ?? "") : [];
  for (const address of servers) allowed.push({ address, whose: "name server" });
  for (const address of localNetworks(readFact)) allowed.push({ address, whose: "the board's own network" });
  const text = hardenedDropIn(allowed);
  if (!args.flags.has("write")) {
    io.stdout.write(text);
    return exit.ok;
  }
  writeSystemFile(hardenedFile, text);
  // tmpfiles.d(5) creates the folder at boot; create it now for a service hardened in between.
  mkdirSync(hardenedRoot, { recursive: true, mode: 0o755 });
  io.stdout.line(`${hardenedFile} is written. It takes effect with:`);
  io.stdout.line("  systemctl daemon-reload && systemctl restart siteward");
  return exit.ok;
};

interface Peer {
  readonly host: string;
  readonly whose: string;
}

/** The agent's peers by the configuration in force. Throws if the way to the API is unknown. */
async function peersOf(io: Io, file: string | undefined): Promise<readonly Peer[]> {
  const { config } = configOf(io, file);
  const ambient = { clock: io.clock, random: io.random, log: silent };
  // Ignore the caller's KUBECONFIG and home folder, which the service does not have.
  const asService = { env: { ...io.env, KUBECONFIG: undefined, HOME: config.state.folder } };
  const { server, proxy } = await askedCredentials(asService, config, ambient).access();
  const through = proxy ?? (config.api.proxy === undefined ? undefined : new URL(config.api.proxy));
  const broker = config.mqtt.url === undefined ? undefined : new URL(config.mqtt.url);
  return [
    { host: hostOf(server), whose: "API server" },
    ...(through ? [{ host: hostOf(through), whose: "proxy" }] : []),
    ...(broker ? [{ host: hostOf(broker), whose: "broker" }] : []),
  ];
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

async function addressesOf(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address).sort();
  } catch {
    return [];
  }
}

const nameServers = (text: string): readonly string[] =>
  [...text.matchAll(/^nameserver\s+([0-9a-fA-F.:]+)/gm)].map(([, address = ""]) => address);
