import type https from "node:https";
import { KubeConfig } from "@kubernetes/client-node";

/** A server to check, with the means to reach it. */
export interface Target {
  /** "https://127.0.0.1:6443", perhaps with a path. */
  readonly server: string;
  readonly tls: Pick<
    https.AgentOptions,
    "ca" | "cert" | "key" | "pfx" | "passphrase" | "rejectUnauthorized" | "servername"
  >;
  readonly headers: Readonly<Record<string, string>>;
  /** Compacts the server's history up to now; undefined if that is not possible. */
  readonly compact: (() => Promise<void>) | undefined;
}

export const plainTarget = (server: string, compact?: () => Promise<void>): Target => ({
  server: server.replace(/\/$/, ""),
  tls: {},
  headers: {},
  compact,
});

/** The server of a kubeconfig's current context, including one with a credential program. */
export async function targetOf(kubeconfig: string, compact?: () => Promise<void>): Promise<Target> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw new Error(`${kubeconfig} names no cluster in its current context`);
  if (server.startsWith("http:")) {
    const token = config.getCurrentUser()?.token;
    const plain = plainTarget(server, compact);
    return token === undefined ? plain : { ...plain, headers: { authorization: `Bearer ${token}` } };
  }
  const options: https.RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
  const known = Object.entries({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername });
  const headers = Object.entries(options.headers ?? {}).map(([name, value]) => [name, String(value)]);
  return {
    server: server.replace(/\/$/, ""),
    tls: Object.fromEntries(known.filter(([, value]) => value !== undefined)),
    headers: Object.fromEntries(headers),
    compact,
  };
}

/** Compaction by etcd, through its JSON gateway, as a kube-apiserver does every five minutes. */
export const etcdCompaction =
  (etcd: string): (() => Promise<void>) =>
  async () => {
    const ask = async (path: string, body: object): Promise<{ header?: { revision?: string } }> => {
      const answer = await fetch(`${etcd}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`etcd at ${etcd}, ${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as { header?: { revision?: string } };
    };
    const now = await ask("range", { key: Buffer.from("/").toString("base64"), limit: 1 });
    await ask("compaction", { revision: now.header?.revision ?? "0", physical: true });
  };
