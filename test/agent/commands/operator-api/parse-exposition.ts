/** A strict reader of Prometheus' text format 0.0.4, written from its specification and not from our writer. */
export interface Family {
  readonly type: string;
  readonly help: string;
  readonly samples: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

export function parseExposition(text: string): ReadonlyMap<string, Family> {
  if (text !== "" && !text.endsWith("\n")) throw new Error("the last line must end with a line break");
  const families = new Map<
    string,
    { type: string; help: string; samples: { labels: Record<string, string>; value: number }[] }
  >();
  let current: string | undefined;
  const seen = new Set<string>();
  for (const [index, line] of text.split("\n").slice(0, -1).entries()) {
    const fail = (why: string): never => {
      throw new Error(`line ${index + 1}: ${why}: ${line}`);
    };
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S.*)$/.exec(line);
    const type = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (help?.[1] !== undefined && help[2] !== undefined) {
      if (families.has(help[1])) fail("a second HELP, or its samples stand apart");
      if (/\\[^\\n]/.test(help[2].replaceAll("\\\\", ""))) fail("a wrong escape in HELP");
      families.set(help[1], { type: "", help: help[2], samples: [] });
      current = help[1];
    } else if (type?.[1] !== undefined && type[2] !== undefined) {
      const family = families.get(type[1]) ?? fail("TYPE without HELP");
      if (type[1] !== current || family.type !== "" || family.samples.length > 0) fail("TYPE at the wrong place");
      family.type = type[2];
    } else if (line.startsWith("#") || line === "") fail("neither HELP nor TYPE nor a sample");
    else {
      const [, name = "", , labelText, valueText = ""] =
        /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+)$/.exec(line) ?? fail("not a sample");
      if (name !== current) fail("a sample among those of another metric");
      const key = `${name}{${labelText ?? ""}}`;
      if (seen.has(key)) fail("the same sample twice");
      seen.add(key);
      const value = numberOf(valueText) ?? fail("not a number");
      families.get(name)?.samples.push({ labels: labelsOf(labelText ?? "", fail), value });
    }
  }
  for (const [name, { type, samples }] of families) {
    if (type === "") throw new Error(`${name} has no type`);
    if (samples.length === 0) throw new Error(`${name} has no samples`);
  }
  return families;
}

function labelsOf(text: string, fail: (why: string) => never): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== "") {
    const found =
      /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,(?=.)|$)/.exec(rest) ?? fail("wrong labels");
    const [all, name = "", value = ""] = found;
    if (name in labels) fail("a label twice");
    labels[name] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
    rest = rest.slice(all.length);
  }
  return labels;
}

function numberOf(text: string): number | undefined {
  if (text === "+Inf" || text === "-Inf") return text === "+Inf" ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  if (text === "NaN") return Number.NaN;
  return /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : undefined;
}
