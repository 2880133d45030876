const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

/**
 * The exact source of the value of a top-level key; undefined if there is no such key. If there are duplicates, the
 * last one is used, as in JSON.parse. `json` must be a valid JSON object.
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
