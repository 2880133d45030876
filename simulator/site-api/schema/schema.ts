import { coreMessages } from "./core.ts";
import { groupMessages } from "./groups.ts";
import { podMessages } from "./pods.ts";
import { volumeMessages } from "./volumes.ts";
import { workloadMessages } from "./workloads.ts";

/** One field of a message. */
export interface Field {
  /** The key in the JSON object. */
  readonly name: string;
  /**
   * one: zero means absent. optional: zero is a value. list: a list of values. map: with string keys. inline: its
   * fields belong to the object around it.
   */
  readonly form: "one" | "optional" | "list" | "map" | "inline";
  /** "text", "int", "long", "bool", "bytes", a type with a special JSON form (Time, Quantity, ...), or a message. */
  readonly type: string;
  /** Whether the field is written even if it is empty. */
  readonly always: boolean;
}

export type Message = ReadonlyMap<number, Field>;

const forms: Readonly<Record<string, Field["form"]>> = { "?": "optional", "*": "list", "{}": "map", "^": "inline" };

/**
 * The structure of the served kinds, as Kubernetes 1.36 declares it: their fields in JSON, and their field numbers in
 * the protobuf of Go clients. One line each: `Message: 1 name, 2 always!, 3 pointer?:int, 4 list*:Message, 5 map{}, 6
 * inlined^:Message`.
 */
export const schema: ReadonlyMap<string, Message> = new Map(
  `${coreMessages}${podMessages}${volumeMessages}${workloadMessages}${groupMessages}`
    .replaceAll("\n  ", " ")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [name = "", fields = ""] = line.split(/: ?(.*)/s);
      return [name, messageOf(fields)];
    }),
);

function messageOf(fields: string): Message {
  const found = fields.matchAll(/\b(\d+) (\w+)(\?|\*|\{\}|\^)?(!)?(?::(\w+))?/g);
  return new Map(
    [...found].map(([, number, name = "", mark = "", always, type = "text"]) => [
      Number(number),
      { name, form: forms[mark] ?? "one", type, always: always !== undefined },
    ]),
  );
}
