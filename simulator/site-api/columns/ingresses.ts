import { itemsAt, textAt } from "../../../agent/api/json.ts";
import type { ApiObject } from "../object.ts";
import { ageColumn, type Column, column, fewOf, nameColumn, orNone } from "./column.ts";

export const ingressColumns: readonly Column[] = [
  nameColumn,
  column("Class", "Who is to serve it.", (ingress) => orNone(textAt(ingress, "spec", "ingressClassName"))),
  column("Hosts", "Hosts that its rules are for.", (ingress) => hosts(ingress)),
  column("Address", "Where it is reached.", addresses),
  column("Ports", "Ports that it opens.", (ingress) => (itemsAt(ingress, "spec", "tls").length > 0 ? "80, 443" : "80")),
  ageColumn,
];

const hosts = (ingress: ApiObject): string =>
  fewOf(
    itemsAt(ingress, "spec", "rules")
      .map((rule) => textAt(rule, "host"))
      .filter((host) => host !== ""),
    "*",
  );

function addresses(ingress: ApiObject): string {
  const entries = itemsAt(ingress, "status", "loadBalancer", "ingress");
  const found = entries.map((entry) => textAt(entry, "ip") || textAt(entry, "hostname")).filter((one) => one !== "");
  return [...new Set(found)].sort().join(",");
}
