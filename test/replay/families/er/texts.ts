import type { Subset, SubsetAddress, SubsetPort } from "../../../../agent/controllers/service/go-text.ts";
import { either, type Form, list, mapped, number, optional, record, text } from "../../form.ts";

const briefAddress = mapped(
  text({
    about:
      "ip, or ip/uid with the uid of the target; behind → (or ->) the target's name. Two addresses are one where ip and " +
      "uid are the same.",
    pattern: /^[^/\s→>-]+(\/[^\s→]+?)?((→|->)\S+)?$/,
    takes: "an address such as 1.2.3.4, 1.2.3.4/u1 or 1.2.3.4→foo",
    examples: ["1.2.3.4", "1.2.3.4/u1", "1.2.3.4→foo"],
  }),
  (value): SubsetAddress => {
    const arrow = /→|->/.exec(value);
    const [address, name] = arrow ? [value.slice(0, arrow.index), value.slice(arrow.index + arrow[0].length)] : [value];
    const slash = address.indexOf("/");
    const [ip, uid] = slash < 0 ? [address] : [address.slice(0, slash), address.slice(slash + 1)];
    if (uid === undefined && name === undefined) return { ip };
    return { ip, targetRef: { ...(name !== undefined && { name }), ...(uid !== undefined && { uid }) } };
  },
);

const fullAddress = mapped(
  record(
    {
      ip: text({ about: "Its IP." }),
      uid: optional(text({ about: "The uid of its target." })),
      target: optional(text({ about: "The name of its target." })),
      kind: optional(text({ about: "The kind of its target." })),
      namespace: optional(text({ about: "The namespace of its target." })),
      hostname: optional(text({ about: "Its hostname." })),
      node: optional(text({ about: "The board it is on." })),
    },
    { about: "The same, member by member. With uid, target, kind or namespace it has a target." },
  ),
  ({ ip, uid, target, kind, namespace, hostname, node }): SubsetAddress => {
    const members = Object.entries({ kind, namespace, name: target, uid }).filter(([, value]) => value !== undefined);
    return {
      ip,
      ...(hostname !== undefined && { hostname }),
      ...(node !== undefined && { nodeName: node }),
      ...(members.length > 0 && { targetRef: Object.fromEntries(members) }),
    };
  },
);

export const addressForm: Form<SubsetAddress> = either([briefAddress, fullAddress], { about: "An address." });

const portNumber = mapped(
  number({ about: "The number alone: no name and no protocol.", min: -65_535, max: 65_535, whole: true }),
  (port): SubsetPort => ({ port }),
);

const fullPort = record(
  {
    port: number({ about: "Its number.", min: -65_535, max: 65_535, whole: true }),
    name: optional(text({ about: "Its name." })),
    protocol: optional(text({ about: "TCP, UDP or SCTP; none by default, which is not the same as TCP." })),
    appProtocol: optional(text({ about: "Its application protocol." })),
  },
  { about: "A port." },
);

export const portsForm = list(either([portNumber, fullPort], { about: "A port.", examples: [111] }), {
  about: "The ports of all addresses of the subset.",
});

export const showAddress = ({ ip, targetRef }: SubsetAddress): string =>
  `${ip}${targetRef?.uid ? `/${targetRef.uid}` : ""}${targetRef?.name ? `→${targetRef.name}` : ""}`;

/** Only the number if nothing else is set. */
export const showPort = ({ name = "", port, protocol = "", appProtocol }: SubsetPort): number | string =>
  name === "" && protocol === "" && appProtocol === undefined
    ? port
    : `${name}:${port}/${protocol}${appProtocol === undefined ? "" : `/${appProtocol}`}`;

export const showSubset = ({ addresses = [], notReadyAddresses = [], ports = [] }: Subset): object => ({
  ready: addresses.map(showAddress),
  notReady: notReadyAddresses.map(showAddress),
  ports: ports.length === 0 ? null : ports.map(showPort),
});

export const subsetsSchema = {
  type: "array",
  description: "In kube-controller-manager's order, which is that of a hash: inAnyOrder where it does not matter.",
  items: {
    type: "object",
    properties: {
      ready: {
        type: "array",
        items: { type: "string" },
        description: "Ready addresses as ip, ip/uid, ip→target or ip/uid→target, sorted by ip and uid.",
      },
      notReady: { type: "array", items: { type: "string" }, description: "The others, likewise." },
      ports: {
        type: ["array", "null"],
        items: { type: ["integer", "string"] },
        description:
          'Numbers, or where there is more to say "name:number/protocol", with "/appProtocol" behind. null: none.',
      },
    },
  },
};
