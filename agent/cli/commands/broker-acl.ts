import { exit } from "../../base/exit-codes.ts";
import type { Run } from "../../base/io.ts";
import { emqxAcl, mosquittoAcl } from "../../fleet/mqtt/broker-acl.ts";
import { isName } from "../../fleet/mqtt/topics.ts";

/** `siteward broker-acl`: prints the access rules for a fleet's broker. Arguments have the form site/board[,board…]. */
export const run: Run = async (io, { values, words }) => {
  const fleet = values.get("fleet") ?? "";
  const format = values.get("format") ?? "mosquitto";
  const operators = (values.get("operators") ?? "").split(",").filter((name) => name !== "");
  const problems: string[] = [];
  if (!isName(fleet)) problems.push("--fleet is required: the fleet's name, of lowercase letters, digits and dashes");
  if (format !== "mosquitto" && format !== "emqx") problems.push("--format must be mosquitto or emqx");
  for (const name of operators)
    if (!/^[^\s#+"/]+$/.test(name)) problems.push(`${JSON.stringify(name)} cannot be the name of an operator`);
  const sites = new Map<string, string[]>();
  for (const word of words) {
    const [site = "", boards = "", ...more] = word.split("/");
    const names = boards.split(",");
    if (more.length > 0 || !isName(site) || !names.every(isName))
      problems.push(`${JSON.stringify(word)} is not site/board[,board…]`);
    else sites.set(site, [...new Set([...(sites.get(site) ?? []), ...names])]);
  }
  if (problems.length > 0) {
    for (const problem of problems) io.stderr.line(`siteward: broker-acl: ${problem}`);
    return exit.usage;
  }
  const aclOf = format === "emqx" ? emqxAcl : mosquittoAcl;
  io.stdout.write(aclOf({ fleet, sites, operators }));
  return exit.ok;
};
