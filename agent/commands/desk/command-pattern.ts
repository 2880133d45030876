import { text } from "../../base/schema.ts";

/** Selects commands: a name, a prefix such as "eviction.*", or "*". */
export const commandPattern = text({ pattern: /^([a-z][a-z.-]*(\.\*)?|\*)$/, most: 65 });

export const fits = (pattern: string, name: string): boolean =>
  pattern === "*" || (pattern.endsWith(".*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern);
