import { describe, expect, test } from "vitest";
import { itemsAt, type JsonObject, textAt, valueAt } from "../../../../agent/api/json.ts";
import { podRules } from "../../../../simulator/site-api/kinds/pods.ts";
import { merge, pod, pods, TestSite } from "../site.ts";

const container = (more: JsonObject): JsonObject => ({ name: "c", image: "i:1", ...more });
const often = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };

async function containerOf(more: JsonObject): Promise<JsonObject> {
  await using site = new TestSite();
  const created = await site.create(pods, pod("a", { containers: [container(more)] }));
  return itemsAt(created, "spec", "containers")[0] as JsonObject;
}

describe("a pod gets its defaults", () => {
  test("for its probes and hooks", async () => {
    const made = await containerOf({
      livenessProbe: { httpGet: { port: 80 } },
      readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 5 },
      startupProbe: { grpc: { port: 5 } },
      lifecycle: { preStop: { httpGet: { port: 1, path: "/bye" } } },
    });
    expect(made.livenessProbe).toEqual({ ...often, httpGet: { port: 80, path: "/", scheme: "HTTP" } });
    expect(made.readinessProbe).toEqual({ ...often, tcpSocket: { port: 80 }, periodSeconds: 5 });
    expect(made.startupProbe).toEqual({ ...often, grpc: { port: 5, service: "" } });
    expect(made.lifecycle).toEqual({ preStop: { httpGet: { port: 1, path: "/bye", scheme: "HTTP" } } });
  });

  test("for the fields that it exposes to its containers", async () => {
    const made = await containerOf({
      env: [
        { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
        { name: "PLAIN", value: "x" },
      ],
    });
    expect(made.env).toEqual([
      { name: "NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
      { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "0" } } },
      { name: "PLAIN", value: "x" },
    ]);
  });

  test("for its init containers, as for its containers", async () => {
    await using site = new TestSite();
    const first = { name: "i", image: "i", ports: [{ containerPort: 2 }], resources: { limits: { cpu: "1" } } };
    const created = await site.create(pods, pod("a", { initContainers: [first] }));
    expect(valueAt(created, "spec", "initContainers")).toEqual([
      {
        ...first,
        ports: [{ containerPort: 2, protocol: "TCP" }],
        resources: { limits: { cpu: "1" }, requests: { cpu: "1" } },
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
        imagePullPolicy: "Always",
      },
    ]);
  });

  test("for its volumes", async () => {
    await using site = new TestSite();
    const self = { path: "p", fieldRef: { fieldPath: "metadata.name" } };
    const exposed = { path: "p", fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } };
    const volumes = [
      { name: "a", secret: { secretName: "x" } },
      { name: "b", configMap: { name: "x", defaultMode: 256 } },
      { name: "c", downwardAPI: { items: [self] } },
      {
        name: "d",
        projected: { sources: [{ serviceAccountToken: { path: "t" } }, { downwardAPI: { items: [self] } }] },
      },
      { name: "e", hostPath: { path: "/x" } },
      { name: "f" },
    ];
    expect(valueAt(await site.create(pods, pod("a", { volumes })), "spec", "volumes")).toEqual([
      { name: "a", secret: { secretName: "x", defaultMode: 420 } },
      { name: "b", configMap: { name: "x", defaultMode: 256 } },
      { name: "c", downwardAPI: { items: [exposed], defaultMode: 420 } },
      {
        name: "d",
        projected: {
          sources: [
            { serviceAccountToken: { path: "t", expirationSeconds: 3600 } },
            { downwardAPI: { items: [exposed] } },
          ],
          defaultMode: 420,
        },
      },
      { name: "e", hostPath: { path: "/x", type: "" } },
      { name: "f", emptyDir: {} },
    ]);
  });

  test("for its ports if it uses host networking", async () => {
    await using site = new TestSite();
    const spec = { hostNetwork: true, containers: [container({ ports: [{ containerPort: 81 }] })] };
    const created = await site.create(pods, pod("a", spec));
    expect(valueAt(created, "spec", "containers")).toMatchObject([
      { ports: [{ containerPort: 81, hostPort: 81, protocol: "TCP" }] },
    ]);
  });

  test("and is not changed by a replacement that leaves them out again", async () => {
    await using site = new TestSite();
    const wish = pod("a", { containers: [container({ livenessProbe: { httpGet: { port: 80 } } })] });
    const created = await site.create(pods, wish);
    const { status, body } = await site.ask("PUT", `${pods}/a`, wish);
    expect([status, body]).toEqual([200, created]);
    const labelled = await site.ask("PATCH", `${pods}/a`, { metadata: { labels: { x: "y" } } }, { type: merge });
    expect(valueAt(labelled.body, "metadata", "generation")).toBe(1);
  });
});

test("a pod that was stored under fewer defaults and checks remains valid", () => {
  const metadata = { name: "a", uid: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
  const lost = { name: "gone", mountPath: "/v" };
  const spec = { containers: [container({ livenessProbe: { httpGet: { port: 80 } }, volumeMounts: [lost] })] };
  const stored = { metadata, spec, status: { phase: "Pending" } };
  const changed = podRules.updated?.({ ...stored, status: { phase: "Running" } }, stored) ?? {};
  expect(podRules.problems?.({ ...changed, metadata }, stored)).toEqual([]);
});

describe("a pod is refused", () => {
  const mount = { name: "v", mountPath: "/v" };
  const volume = { name: "v", emptyDir: {} };
  const [main, first] = ["spec.containers[0]", "spec.initContainers[0]"];
  test.each([
    [{ containers: [container({ volumeMounts: [mount] })] }, `${main}.volumeMounts[0].name: Not found: "v"`],
    [
      { initContainers: [{ name: "i", image: "i", volumeMounts: [mount] }], volumes: [{ ...volume, name: "w" }] },
      `${first}.volumeMounts[0].name: Not found: "v"`,
    ],
    [
      { containers: [container({ volumeMounts: [mount, mount] })], volumes: [volume] },
      `${main}.volumeMounts[1].mountPath: Invalid value: "/v": must be unique`,
    ],
    [{ volumes: [volume, volume] }, 'spec.volumes[1].name: Duplicate value: "v"'],
    [
      { containers: [container({ imagePullPolicy: "Sometimes" })] },
      `${main}.imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`,
    ],
    [{ initContainers: [{ name: "main", image: "i" }] }, `${first}.name: Duplicate value: "main"`],
    [{ initContainers: [{ name: "i" }] }, `${first}.image: Required value`],
  ])("with %j", async (spec, sentence) => {
    await using site = new TestSite();
    const { status, body } = await site.ask("POST", pods, pod("a", spec));
    const causes = itemsAt(body, "details", "causes");
    expect([status, ...causes.map((cause) => `${textAt(cause, "field")}: ${textAt(cause, "message")}`)]).toEqual([
      422,
      sentence,
    ]);
  });

  test("as long as it lacks the volume that it mounts", async () => {
    await using site = new TestSite();
    const spec = { containers: [container({ volumeMounts: [mount] })] };
    expect((await site.ask("POST", pods, pod("a", spec))).status).toBe(422);
    await site.create(pods, pod("a", { ...spec, volumes: [volume] }));
  });
});
