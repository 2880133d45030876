const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

/**
 * A member of the outermost object as it was written, to the letter; `undefined`: there is none. Of several with its name
 * the last one counts, as for JSON.parse. `json` is known to be an object that can be parsed.
 */
export function memberText(json: string, name: string): string | undefined {
  let found: string | undefined;
  let [depth, end, isName] = [0, 0, true];
  let key: unknown;
  let begin: number | undefined;
  for (const { 0: token, index } of json.matchAll(tokens)) {
    if (depth === 0) {
      depth = 1;
    } else if (depth === 1 && (token === "," || token === "}")) {
      if (key === name && begin !== undefined) found = json.slice(begin, end);
      [key, begin, isName] = [undefined, undefined, true];
    } else if (depth === 1 && isName) {
      key = JSON.parse(token);
      isName = false;
    } else if (depth > 1 || token !== ":") {
      begin ??= index;
      end = index + token.length;
      if (token === "{" || token === "[") depth++;
      else if (token === "}" || token === "]") depth--;
    }
  }
  return found;
}
