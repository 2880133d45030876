import { KubeSite } from "../support/kube/kube-site.ts";
import { fill, fillServices, type Server, shares } from "../support/load.ts";
import { rest } from "../support/rest.ts";
import { asInstalled } from "./as-installed.ts";
import type { Bench, BenchContext, Figure } from "./figure.ts";
import { heartbeats } from "./heartbeats.ts";
import { Peer } from "./peer.ts";

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const endpoints = "/api/v1/namespaces/default/endpoints";

/** A site as large as they get, from the start of a leader that finds no slice yet until all are there. */
export const scale: Bench = {
  name: "scale",
  summary: "200 boards, 10 000 pods, 300 services: from the start until all is settled, CPU and RAM",
  kube: true,
  run: measure,
};

async function* measure({ seed, quick, say }: BenchContext): AsyncGenerator<Figure> {
  const [nodes, pods, services] = quick ? [20, 1000, 30] : [200, 10_000, 300];
  const site = new KubeSite();
  const { cluster } = site;
  const peer = new Peer(cluster);
  let stopBeats = (): void => {};
  try {
    await site.start();
    stopBeats = heartbeats(cluster, nodes);
    say(`creating ${nodes} boards, ${pods} pods, ${services} services`);
    await fill(cluster, { nodes, pods, seed });
    await fillServices(cluster, services);
    const all = {
      pods: Array.from({ length: pods }, (_, i) => i % shares).filter((i) => i < services).length,
      services,
    };

    say("kube-controller-manager");
    await peer.start();
    const theirs = await settled(cluster, all);
    const kcm = { seconds: theirs, cpu: peer.cpu() / 1000, ...peer.memory() };
    await peer.stop();
    for (const collection of [slices, endpoints]) await cluster.request("DELETE", collection);

    say("the agent");
    const begun = performance.now();
    const agent = site.agent("pi-1", asInstalled);
    const seconds = await settled(cluster, all, begun);
    const cpu = agent.cpu() / 1000;
    yield { what: "from the start until all is settled", value: seconds, unit: "s", peer: kcm.seconds };
    yield { what: "CPU until then", value: cpu, unit: "s", peer: kcm.cpu };
    await rest(quick ? 10 : 60);
    const { rss, anonymous, peak } = agent.memory();
    yield { what: "leader, RSS", value: rss, unit: "MB", ...(!quick && { target: 76 }), peer: kcm.rss };
    yield {
      what: "leader, anonymous",
      value: anonymous,
      unit: "MB",
      ...(!quick && { target: 30 }),
      peer: kcm.anonymous,
    };
    yield { what: "leader, peak", value: peak, unit: "MB", peer: kcm.peak };
    const before = agent.cpu();
    await rest(30);
    yield { what: "CPU at rest", value: (agent.cpu() - before) / 300, unit: "% of a core" };
  } finally {
    stopBeats();
    await peer.stop();
    await site.stop();
  }
}

interface Sliced {
  readonly items: readonly { readonly endpoints?: readonly object[] | null }[];
}

/** Until every pod stands in the slices, and every service has its Endpoints; answers with the seconds since `begun`. */
async function settled(
  server: Server,
  { pods, services }: { readonly pods: number; readonly services: number },
  begun = performance.now(),
): Promise<number> {
  for (;;) {
    if (performance.now() - begun > 600_000) throw new Error("it has not settled within ten minutes");
    await rest(0.5);
    const at = performance.now();
    const { items } = await server.request<Sliced>("GET", slices);
    const placed = items.reduce((sum, slice) => sum + (slice.endpoints?.length ?? 0), 0);
    if (placed < pods) continue;
    const list = await server.request<{ items: readonly object[] }>("GET", endpoints);
    if (list.items.length >= services) return (at - begun) / 1000;
  }
}
