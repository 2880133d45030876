/**
 * How the lists of a type merge. A list without `merge` is atomic: a patch replaces it as a whole. `merge` names the
 * field that identifies its items, or is "value" if the items are strings and the list is a set.
 */
export interface MergeSchema {
  readonly merge?: string;
  /** The schemas of fields, or of the fields of a list's items. */
  readonly fields?: Readonly<Record<string, MergeSchema>>;
}

const by = (merge: string, fields: MergeSchema["fields"] = {}): MergeSchema => ({ merge, fields });
const within = (fields: NonNullable<MergeSchema["fields"]>): MergeSchema => ({ fields });

const metadata = within({ ownerReferences: by("uid"), finalizers: by("value") });
const conditions = within({ conditions: by("type") });

const container = by("name", {
  ports: by("containerPort"),
  env: by("name"),
  volumeMounts: by("mountPath"),
  volumeDevices: by("devicePath"),
});

const podSpec = within({
  volumes: by("name"),
  initContainers: container,
  containers: container,
  ephemeralContainers: container,
  imagePullSecrets: by("name"),
  hostAliases: by("ip"),
  topologySpreadConstraints: by("topologyKey"),
  schedulingGates: by("name"),
  resourceClaims: by("name"),
});

const template = within({ metadata, spec: podSpec });

/** The schemas of the kinds served, as the Kubernetes types declare them (`patchStrategy`, `patchMergeKey`). */
const mergeSchemas: Readonly<Record<string, MergeSchema>> = {
  Node: within({
    metadata,
    spec: within({ podCIDRs: by("value") }),
    status: within({ conditions: by("type"), addresses: by("type") }),
  }),
  Pod: within({
    metadata,
    spec: podSpec,
    status: within({ conditions: by("type"), podIPs: by("ip"), hostIPs: by("ip"), resourceClaimStatuses: by("name") }),
  }),
  Namespace: within({ metadata, status: conditions }),
  Service: within({ metadata, spec: within({ ports: by("port") }), status: conditions }),
  ServiceAccount: within({ metadata, secrets: by("name") }),
  DaemonSet: within({ metadata, spec: within({ template }), status: conditions }),
  ReplicaSet: within({ metadata, spec: within({ template }), status: conditions }),
  Deployment: within({ metadata, spec: within({ template }), status: conditions }),
  StatefulSet: within({ metadata, spec: within({ template }), status: conditions }),
  ReplicationController: within({ metadata, spec: within({ template }), status: conditions }),
  Job: within({ metadata, spec: within({ template }), status: conditions }),
  CronJob: within({ metadata, spec: within({ jobTemplate: within({ metadata, spec: within({ template }) }) }) }),
};

const metadataOnly = within({ metadata });

export const mergeSchemaOf = (kind: string): MergeSchema => mergeSchemas[kind] ?? metadataOnly;
