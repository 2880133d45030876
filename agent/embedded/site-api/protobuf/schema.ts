import { messages } from "./messages.ts";
import { podMessages } from "./pod-messages.ts";

/** One field of a message. */
export interface Field {
  /** The member of the JSON object. */
  readonly name: string;
  /**
   * one: a zero is the same as nothing. optional: a zero is a value. list. map: from texts. inline: its members are
   * members of the object around it.
   */
  readonly form: "one" | "optional" | "list" | "map" | "inline";
  /** "text", "int", "bool", "bytes", a type with a JSON form of its own (Time, Quantity, ...), or a message. */
  readonly type: string;
}

export type Message = ReadonlyMap<number, Field>;

const forms: Readonly<Record<string, Field["form"]>> = { "?": "optional", "*": "list", "{}": "map", "^": "inline" };

/**
 * The protobuf messages that Kubernetes clients send, as far as they are read here. One line each, with the numbers that
 * the wire has for names: `Message: 1 name, 2 pointer?:int, 3 list*:Message, 4 map{}, 5 inlined^:Message`.
 */
export const schema: ReadonlyMap<string, Message> = new Map(
  `${messages}${podMessages}`
    .replaceAll("\n  ", " ")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [name = "", fields = ""] = line.split(/: ?(.*)/s);
      return [name, messageOf(fields)];
    }),
);

function messageOf(fields: string): Message {
  const found = fields.matchAll(/(\d+) (\w+)(\?|\*|\{\}|\^)?(?::(\w+))?/g);
  return new Map(
    [...found].map(([, number, name = "", mark = "", type = "text"]) => [
      Number(number),
      { name, form: forms[mark] ?? "one", type },
    ]),
  );
}
