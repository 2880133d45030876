import { lookup } from "node:dns/promises";
import { mkdirSync } from "node:fs";
import { isIP } from "node:net";
import { exit } from "../../base/exit-codes.ts";
import type { Io, Run } from "../../base/io.ts";
import { noopLogger } from "../../base/logger.ts";
import { localNetworks } from "../../board/local-networks.ts";
import { readFact } from "../../board/read-fact.ts";
import { askedCredentials } from "../../process/api-access.ts";
import { configOf } from "../../process/load-config.ts";
import { type Allowed, hardenedDropIn, hardenedFile, hardenedRoot } from "./hardened-drop-in.ts";
import { writeSystemFile } from "./system-file.ts";

/** `siteward harden`: prints or writes the drop-in that restricts the service's files and network addresses. */
export const run: Run = async (io, args) => {
  const hosts = await peersOf(io, args.values.get("config"));
  const allowed: Allowed[] = [];
  for (const { host, owner } of hosts) {
    const addresses = await addressesOf(host);
    if (addresses.length === 0) {
      io.stderr.line(`siteward: no address was found for ${host}, the ${owner}`);
      io.stderr.line("  Nothing was written. Try again when host names can be resolved.");
      return exit.failed;
    }
    allowed.push(...addresses.map((address) => ({ address, owner: `${owner}: ${host}` })));
  }
  // Name servers are needed only if a peer has a host name.
  const servers = hosts.some(({ host }) => isIP(host) === 0) ? nameServers(readFact("/etc/resolv.conf") ?? "") : [];
  for (const address of servers) allowed.push({ address, owner: "name server" });
  for (const address of localNetworks(readFact)) allowed.push({ address, owner: "the board's own network" });
  const text = hardenedDropIn(allowed);
  if (!args.flags.has("write")) {
    io.stdout.write(text);
    return exit.ok;
  }
  writeSystemFile(hardenedFile, text);
  // tmpfiles.d(5) creates the folder at each boot; this call creates it until the next boot.
  mkdirSync(hardenedRoot, { recursive: true, mode: 0o755 });
  io.stdout.line(`${hardenedFile} is written. It takes effect with:`);
  io.stdout.line("  systemctl daemon-reload && systemctl restart siteward");
  return exit.ok;
};

interface Peer {
  readonly host: string;
  readonly owner: string;
}

/** The hosts that the agent connects to. Throws if the API server's address is unknown. */
async function peersOf(io: Io, file: string | undefined): Promise<readonly Peer[]> {
  const { config } = configOf(io, file);
  const ambient = { clock: io.clock, random: io.random, log: noopLogger };
  // Mirrors the service, which uses neither the user's KUBECONFIG nor their home folder.
  const asService = { env: { ...io.env, KUBECONFIG: undefined, HOME: config.state.folder } };
  const { server, proxy } = await askedCredentials(asService, config, ambient).access();
  const through = proxy ?? (config.api.proxy === undefined ? undefined : new URL(config.api.proxy));
  const broker = config.mqtt.url === undefined ? undefined : new URL(config.mqtt.url);
  return [
    { host: hostOf(server), owner: "API server" },
    ...(through ? [{ host: hostOf(through), owner: "proxy" }] : []),
    ...(broker ? [{ host: hostOf(broker), owner: "broker" }] : []),
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
