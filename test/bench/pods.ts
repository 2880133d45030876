import type { Pod } from "../../agent/api/core.ts";
import { fill, type LoadSize } from "../support/load.ts";

const collection = "/api/v1/namespaces/default/pods";

/** The pods that `fill` gives a server, as that server sends them: with uid, version and managed fields, about 11 KB each. */
export async function podsOf(size: LoadSize): Promise<readonly Pod[]> {
  const made = new Map<string, Pod>();
  const request = async <T>(method: string, url: string, body?: unknown): Promise<T> => {
    const sent = body as Pod;
    if (url === collection) made.set(sent.metadata.name, sent);
    const [, name = ""] = /^\/api\/v1\/namespaces\/default\/pods\/([^/]+)\/status$/.exec(url) ?? [];
    const pod = made.get(name);
    if (method === "PATCH" && pod) made.set(name, { ...pod, ...sent });
    return undefined as T;
  };
  await fill({ request }, size);
  return [...made.values()].map(asSent);
}

function asSent(pod: Pod, i: number): Pod {
  const metadata = {
    ...pod.metadata,
    uid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    managedFields: [managed(pod)],
    annotations: { ...pod.metadata.annotations, "bench/as-large-as-in-a-cluster": "x".repeat(2600) },
  };
  return { ...pod, metadata };
}

/** The server notes every variable of the environment by itself. */
function managed({ spec }: Pod): NonNullable<Pod["metadata"]["managedFields"]>[number] {
  const env = spec?.containers[0]?.env ?? [];
  const fields = env.map(({ name }) => [`k:{"name":"${name}"}`, { ".": {}, "f:name": {}, "f:value": {} }] as const);
  const container = { ".": {}, "f:env": { ".": {}, ...Object.fromEntries(fields) }, "f:image": {}, "f:ports": {} };
  return {
    manager: "bench",
    operation: "Update",
    apiVersion: "v1",
    time: "2026-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:spec": { "f:containers": { 'k:{"name":"main"}': container } } },
  };
}
