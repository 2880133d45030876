import { kubeletPort } from "./healthz.ts";
import type { AskKubelet } from "./kubelet-health.ts";

/** Reads a file of /proc; undefined if it cannot be read. */
type ReadTable = (file: string) => string | undefined;

/**
 * Asks only a listener of root, as every usual kubelet is: any process of the host's network, even a pod's, can listen on
 * the kubelet's port while the kubelet is down. Where the owner cannot be read, the answer counts.
 */
export const ofRoot =
  (ask: AskKubelet, read: ReadTable, port = kubeletPort): AskKubelet =>
  async () => {
    const before = isForeign(read, port);
    const answer = before ? "silent" : await ask();
    // Checked again, because the listener may have changed in between.
    return answer !== "silent" && isForeign(read, port) ? "silent" : answer;
  };

/** Whether a user other than root listens where a connection to 127.0.0.1 arrives. */
function isForeign(read: ReadTable, port: number): boolean {
  const listeners = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => listenersIn(read(file) ?? "", port));
  for (const addresses of inOrder) {
    const reached = listeners.filter(({ address }) => addresses.includes(address));
    if (reached.length > 0) return reached.some(({ user }) => user !== "0");
  }
  return false;
}

interface Listener {
  readonly address: string;
  /** The user id. */
  readonly user: string;
}

/** Per line of the table: number, local address, remote address, state, queues, timers, retransmissions, user id. */
function listenersIn(table: string, port: number): readonly Listener[] {
  return table.split("\n").flatMap((row) => {
    const [, local = "", , state, , , , user = ""] = row.trim().split(/\s+/);
    const [address = "", localPort = ""] = local.split(":");
    return state === listening && Number.parseInt(localPort, 16) === port ? [{ address, user }] : [];
  });
}

const listening = "0A";
/**
 * The addresses of listeners that may take a connection to 127.0.0.1. An exact address takes precedence, and [::] takes
 * IPv4 only if nothing else does: another user may listen there beside the kubelet. They are words in host byte order, all
 * supported boards being little-endian.
 */
const inOrder: readonly (readonly string[])[] = [
  ["0100007F", "0000000000000000FFFF00000100007F"],
  ["00000000", "0000000000000000FFFF000000000000"],
  ["00000000000000000000000000000000"],
];
