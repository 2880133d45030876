import type { KubeCluster } from "../support/kube/kube-cluster.ts";
import { renew } from "../support/load.ts";

const period = 10_000;

/** Renews the Lease of every board once in ten seconds, spread over them, as kubelets do. What it returns ends that. */
export function heartbeats(
  cluster: KubeCluster,
  boards: number,
  isSilent: (board: number) => boolean = () => false,
): () => void {
  let turn = 0;
  const timer = setInterval(() => {
    const board = turn++ % boards;
    if (!isSilent(board)) void renew(cluster, board).catch(() => undefined);
  }, period / boards);
  return () => clearInterval(timer);
}
