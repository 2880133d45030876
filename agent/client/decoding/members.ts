import type { KubeObject } from "../../api/meta.ts";
import { pods, type Resource, resourceName } from "../../api/resources.ts";
import { podMessage } from "./pod-message.ts";
import { message, type ProtobufField, type ProtobufMessage, part, text } from "./protobuf.ts";
import type { MemberFilter } from "./reduce.ts";

/** Only kinds with thousands of objects are requested as protobuf. */
const messages: ReadonlyMap<string, ProtobufMessage> = new Map([[resourceName(pods), podMessage]]);

/** The protobuf fields of a kind that is requested as protobuf. */
export const messageOf = (resource: Resource<KubeObject>): ProtobufMessage | undefined =>
  messages.get(resourceName(resource));

const identity: MemberFilter = (name) =>
  name === "metadata"
    ? (member) => ["name", "namespace", "uid", "resourceVersion"].includes(member)
    : name === "kind" || name === "apiVersion";

const withoutManagedFields: MemberFilter = (name) =>
  name === "metadata" ? (member) => member !== "managedFields" : true;

const inEvent =
  (object: MemberFilter): MemberFilter =>
  (name) =>
    name === "object" ? object : name === "type";

/** The fields of an object that some part of the agent reads. A Pod's env and the managedFields are never read. */
export function keptOf(resource: Resource<KubeObject>): MemberFilter {
  const message = messageOf(resource);
  if (message === undefined) return withoutManagedFields;
  const members = membersOf(message);
  return (name) => name === "kind" || name === "apiVersion" || members(name);
}

export const identityKept = identity;
export const identityInEvent = inEvent(identity);
export const keptInEvent = (resource: Resource<KubeObject>): MemberFilter => inEvent(keptOf(resource));

/** The protobuf form of `identityKept`, for any kind. */
export const identityMessage = message({
  1: part("metadata", message({ 1: text("name"), 3: text("namespace"), 5: text("uid"), 6: text("resourceVersion") })),
});

function membersOf(fields: ProtobufMessage): MemberFilter {
  const members = new Map<string, boolean | MemberFilter>();
  for (const { name, type, form, only } of inJson(fields)) {
    if (only !== undefined) members.set(name, (key) => only.includes(key));
    else members.set(name, form === "map" || typeof type === "string" ? true : membersOf(type));
  }
  return (name) => members.get(name) ?? false;
}

/** The fields that the message has in JSON. */
const inJson = (fields: ProtobufMessage): readonly ProtobufField[] =>
  fields.flatMap((field) => {
    if (field === undefined) return [];
    return field.form === "inline" && typeof field.type !== "string" ? inJson(field.type) : [field];
  });
