import { isJsonObject, itemsAt, type JsonObject, type JsonValue, numberAt, textAt } from "../../../agent/api/json.ts";

/** Adds those of the real server's defaults for pods and pod templates that kubectl or the programs here use. */
export function podSpecDefaults(spec: JsonObject): JsonObject {
  const period = numberAt(spec, "terminationGracePeriodSeconds");
  const filled = {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
    ...spec,
    ...(period !== undefined && period < 0 && { terminationGracePeriodSeconds: 1 }),
  };
  return each(eachContainer(filled, containerDefaults), "volumes", volumeDefaults);
}

/** Defaults that a pod gets but a pod template does not. */
export function runDefaults(spec: JsonObject): JsonObject {
  const onHost = spec.hostNetwork === true;
  return eachContainer(spec, (container) => {
    const asking = within(container, "resources", requested);
    return onHost ? each(asking, "ports", (port) => ({ hostPort: port.containerPort ?? 0, ...port })) : asking;
  });
}

/** The resources of a container. A container with a limit but no request gets a request equal to the limit. */
function requested(resources: JsonObject): JsonObject {
  const { limits, requests } = resources;
  if (!isJsonObject(limits) || Object.keys(limits).length === 0) return resources;
  return { ...resources, requests: { ...limits, ...(isJsonObject(requests) && requests) } };
}

function containerDefaults(container: JsonObject): JsonObject {
  const filled: JsonObject = {
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: pullPolicyOf(textAt(container, "image")),
    ...container,
  };
  const probes = ["livenessProbe", "readinessProbe", "startupProbe"];
  const probed = probes.reduce((all, name) => within(all, name, probeDefaults), filled);
  const hooked = within(probed, "lifecycle", (hooks) =>
    ["postStart", "preStop"].reduce((all, name) => within(all, name, withHttpGet), hooks),
  );
  const named = each(hooked, "env", (variable) => within(variable, "valueFrom", fieldDefaults));
  return each(named, "ports", (port) => ({ protocol: "TCP", ...port }));
}

const pullPolicyOf = (image: string): string =>
  image.endsWith(":latest") || !/[:@]/.test(image.slice(image.lastIndexOf("/") + 1)) ? "Always" : "IfNotPresent";

const withHttpGet = (action: JsonObject): JsonObject =>
  within(action, "httpGet", (get) => ({ path: "/", scheme: "HTTP", ...get }));

const probeDefaults = (probe: JsonObject): JsonObject =>
  within(
    withHttpGet({ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3, ...probe }),
    "grpc",
    (grpc) => ({ service: "", ...grpc }),
  );

/** Completes a reference to a field of the pod, in an environment variable or in a file of a volume. */
const fieldDefaults = (source: JsonObject): JsonObject =>
  within(
    within(source, "fieldRef", (field) => ({ apiVersion: "v1", ...field })),
    "resourceFieldRef",
    (field) => ({ divisor: "0", ...field }),
  );

const withFields = (source: JsonObject): JsonObject => each(source, "items", fieldDefaults);

/** A volume source with the default file mode: writable by the owner, readable by all. */
const withMode = (source: JsonObject): JsonObject => ({ defaultMode: 0o644, ...source });

const projectedDefaults = (projected: JsonObject): JsonObject =>
  each(withMode(projected), "sources", (source) =>
    within(within(source, "downwardAPI", withFields), "serviceAccountToken", (token) => ({
      expirationSeconds: 3600,
      ...token,
    })),
  );

const sourceDefaults: readonly (readonly [source: string, (source: JsonObject) => JsonObject])[] = [
  ["secret", withMode],
  ["configMap", withMode],
  ["downwardAPI", (source) => withFields(withMode(source))],
  ["projected", projectedDefaults],
  ["hostPath", (source) => ({ type: "", ...source })],
];

function volumeDefaults(volume: JsonObject): JsonObject {
  const { name: _, ...sources } = volume;
  if (Object.keys(sources).length === 0) return { ...volume, emptyDir: {} };
  return sourceDefaults.reduce((all, [name, filled]) => within(all, name, filled), volume);
}

const eachContainer = (spec: JsonObject, change: (container: JsonObject) => JsonObject): JsonObject =>
  ["containers", "initContainers"].reduce((all, name) => each(all, name, change), spec);

/** The object with one field changed, if it is present. */
function within(object: JsonObject, name: string, change: (member: JsonObject) => JsonObject): JsonObject {
  const found = object[name];
  return isJsonObject(found) ? { ...object, [name]: change(found) } : object;
}

/** The object with each item of a list changed, if there is one. */
function each(object: JsonObject, name: string, change: (item: JsonObject) => JsonObject): JsonObject {
  const items = itemsAt(object, name);
  if (items.length === 0) return object;
  return { ...object, [name]: items.map((item): JsonValue => (isJsonObject(item) ? change(item) : item)) };
}
