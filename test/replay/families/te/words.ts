import type { Taint, Toleration } from "../../../../agent/api/core.ts";
import { either, list, mapped, number, optional, record, text } from "../../form.ts";
import { taintFrom } from "../../site/taint-text.ts";

const letters = ["a", "b", "c", "d"];

/** "a" is testTaint1=test1, "b" testTaint2=test2, and so on. */
function keyAndValue(letter: string): { readonly key: string; readonly value: string } | undefined {
  const number = letters.indexOf(letter) + 1;
  return number === 0 ? undefined : { key: `testTaint${number}`, value: `test${number}` };
}

const pattern = /^([a-d]|[^=:@\s]+(=[^:@\s]*)?:(NoSchedule|PreferNoSchedule|NoExecute))(@.+)?$/;

const briefTaint = mapped(
  text({
    about:
      "key=value:effect or key:effect; the keys of node.kubernetes.io/ stand without that prefix. Or a letter: a is " +
      "testTaint1=test1:NoExecute, b is testTaint2=test2:NoExecute, and so on up to d. Behind an @ its timeAdded, any text.",
    pattern,
    takes: "a taint such as a, a@T2 or unreachable:NoExecute",
    examples: ["a", "a@T2", "unreachable:NoExecute", "maintenance=disk:NoExecute@2026-01-01T00:00:00Z"],
  }),
  (value): Taint => {
    const [word = "", timeAdded] = splitOnce(value, "@");
    const letter = keyAndValue(word);
    const taint = letter ? { ...letter, effect: "NoExecute" } : taintFrom(word);
    return timeAdded === undefined ? taint : { ...taint, timeAdded };
  },
);

const fullTaint = record(
  {
    key: text({ about: "Its key." }),
    value: optional(text({ about: "Its value." })),
    effect: text({ about: "NoExecute; other effects evict no pod." }),
    timeAdded: optional(text({ about: "Tells it from one of the same name that was added at another time." })),
  },
  { about: "A taint as in a Node." },
);

export const taintsForm = list(either([briefTaint, fullTaint], { about: "A taint." }), {
  about: "All taints of the board, in their order.",
});

const briefToleration = mapped(
  text({
    about:
      "What it tolerates, and in brackets for how many seconds; without brackets, or with ∞ or forever: for good. What: a " +
      "letter as for taints (key and value must be equal), key=value (likewise), key (whatever the value), or * " +
      "(everything). The effect is NoExecute; * has none.",
    pattern: /^(\*|[^=()\s]+(=[^()\s]*)?)(\((-?\d+|∞|forever)\))?$/,
    takes: "a toleration such as a(300), a(∞), key=value(60) or *",
    examples: ["a(300)", "a(∞)", "unreachable(300)", "maintenance=disk(0)", "*"],
  }),
  (value): Toleration => {
    const [, what = "", seconds = "∞"] = /^([^(]+)(?:\((.+)\))?$/.exec(value) ?? [];
    const limit = /^-?\d+$/.test(seconds) ? { tolerationSeconds: Number(seconds) } : {};
    if (what === "*") return { operator: "Exists", ...limit };
    const letter = keyAndValue(what);
    if (letter) return { ...letter, operator: "Equal", effect: "NoExecute", ...limit };
    const { key, value: wanted } = taintFrom(`${what}:NoExecute`);
    const operator = wanted === undefined ? { operator: "Exists" } : { operator: "Equal", value: wanted };
    return { key, ...operator, effect: "NoExecute", ...limit };
  },
);

const fullToleration = record(
  {
    key: optional(text({ about: "Any key if absent." })),
    operator: optional(text({ about: "Equal (the default) or Exists." })),
    value: optional(text({ about: "For Equal." })),
    effect: optional(text({ about: "Any effect if absent." })),
    tolerationSeconds: optional(number({ about: "For this long; for good if absent." })),
  },
  { about: "A toleration as in a Pod." },
);

export const tolerationsForm = list(either([briefToleration, fullToleration], { about: "A toleration." }), {
  about: "All tolerations of the pod, in their order: the first that matches a taint decides.",
});

function splitOnce(value: string, at: string): [string, string | undefined] {
  const place = value.indexOf(at);
  return place < 0 ? [value, undefined] : [value.slice(0, place), value.slice(place + 1)];
}
