/** A regular expression as written in a source file; `pattern` is undefined if it is built at run time. */
export interface WrittenPattern {
  readonly line: number;
  readonly written: string;
  readonly pattern: RegExp | undefined;
}

const word = /[\w$]/;
/**
 * A slash after such a token is a division, unless the token is one of these words; after any other it begins a
 * pattern.
 */
const operand = /[\w$)\]}"'`]$/;
const operators = new Set("return typeof case in of void delete throw new await yield do else instanceof".split(" "));

/** The regular expressions of a TypeScript or JavaScript source. What stands in comments and texts is none. */
export function patternsIn(source: string): readonly WrittenPattern[] {
  const found: WrittenPattern[] = [];
  /** Of each template that is open: how many braces are open in its present expression. */
  const templates: number[] = [];
  let at = 0;
  let token = "";
  const add = (end: number, pattern: boolean): void => {
    const written = source.slice(at, end);
    const line = source.slice(0, at).split("\n").length;
    found.push({ line, written, pattern: pattern ? literal(written) : undefined });
  };
  const inTemplate = (from: number): void => {
    for (at = from; at < source.length; at++) {
      if (source[at] === "\\") at++;
      else if (source[at] === "`") {
        token = source[at++] ?? "";
        return;
      } else if (source.startsWith("${", at)) {
        templates.push(0);
        token = "(";
        at += 2;
        return;
      }
    }
  };
  while (at < source.length) {
    const next = source[at] ?? "";
    if (source.startsWith("//", at) || (at === 0 && source.startsWith("#!"))) at = endOf(source, "\n", at);
    else if (source.startsWith("/*", at)) at = endOf(source, "*/", at + 2) + 2;
    else if (next === '"' || next === "'") {
      at = endOfText(source, at + 1, next);
      token = next;
    } else if (next === "`") inTemplate(at + 1);
    else if (next === "}" && templates.at(-1) === 0) {
      templates.pop();
      inTemplate(at + 1);
    } else if (next === "/" && (!operand.test(token) || operators.has(token))) {
      const end = endOfPattern(source, at + 1);
      add(end, true);
      at = end;
      token = ")";
    } else if (word.test(next)) {
      const end = at + (/^[\w$]+/.exec(source.slice(at, at + 200))?.[0].length ?? 1);
      token = source.slice(at, end);
      if (token === "RegExp" && source[end] === "(") add(endOf(source, "\n", at), false);
      at = end;
    } else {
      const depth = templates.at(-1);
      if (depth !== undefined && (next === "{" || next === "}"))
        templates[templates.length - 1] = depth + (next === "{" ? 1 : -1);
      if (next.trim() !== "") token = next;
      at++;
    }
  }
  return found;
}

const endOf = (source: string, text: string, from: number): number => {
  const at = source.indexOf(text, from);
  return at < 0 ? source.length : at;
};

function endOfText(source: string, from: number, quote: string): number {
  for (let at = from; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === quote) return at + 1;
  }
  return source.length;
}

function endOfPattern(source: string, from: number): number {
  let isInClass = false;
  for (let at = from; at < source.length; at++) {
    const next = source[at];
    if (next === "\\") at++;
    else if (next === "[") isInClass = true;
    else if (next === "]") isInClass = false;
    else if (next === "/" && !isInClass)
      return at + 1 + (/^[a-z]*/.exec(source.slice(at + 1, at + 10))?.[0].length ?? 0);
  }
  return source.length;
}

function literal(written: string): RegExp {
  const end = written.lastIndexOf("/");
  return new RegExp(written.slice(1, end), written.slice(end + 1));
}
