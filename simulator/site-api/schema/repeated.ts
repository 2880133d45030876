/** A place in a document: a field of an object, or an index of a list. */
interface Frame {
  readonly names: Set<string> | undefined;
  at: string | number;
}

/** Path of a repeated field of a JSON document: "spec.holderIdentity". A JSON parser sees only the last one. */
export function repeatedMembers(text: string): readonly string[] {
  const repeated: string[] = [];
  const frames: Frame[] = [];
  let name = "";
  for (let i = 0; i < text.length; i++) {
    const frame = frames.at(-1);
    switch (text[i]) {
      case '"': {
        const begin = i;
        i = endOfText(text, i);
        // Only keys are checked, which are strings before a colon in an object.
        if (frame?.names !== undefined) name = text.slice(begin, i + 1);
        break;
      }
      case ":": {
        if (frame?.names === undefined) break;
        frame.at = String(JSON.parse(name));
        if (frame.names.has(frame.at)) repeated.push(pathOf(frames));
        frame.names.add(frame.at);
        break;
      }
      case "{":
        frames.push({ names: new Set(), at: "" });
        break;
      case "[":
        frames.push({ names: undefined, at: 0 });
        break;
      case ",":
        if (typeof frame?.at === "number") frame.at++;
        break;
      case "}":
      case "]":
        frames.pop();
        break;
      default:
    }
  }
  return repeated;
}

function endOfText(text: string, begin: number): number {
  for (let i = begin + 1; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === '"') return i;
  }
  return text.length;
}

const pathOf = (frames: readonly Frame[]): string =>
  frames.map(({ at }, i) => (typeof at === "number" ? `[${at}]` : i === 0 ? at : `.${at}`)).join("");
