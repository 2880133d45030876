import { identityOf, type StoredObject } from "../../../../storage/object.ts";
import type { Failing, Given, ListAnswer, WatchAnswer } from "./forms.ts";

/** One answer to a list: a failure, or a page. */
export type Page = Failing | (Required<Pick<ListAnswer, "items" | "resourceVersion">> & ListAnswer);

const isFailing = (answer: object): answer is Failing => "error" in answer;

/** The answers that remain to be given. */
export class Script {
  readonly #lists: Page[][] = [];
  readonly #watches: (Failing | WatchAnswer)[] = [];
  #last: readonly Page[] = [{ items: [], resourceVersion: "1" }];
  #rest: Page[] = [];

  add({ lists = [], watches = [] }: Pick<Given, "lists" | "watches">): void {
    for (const answer of lists) {
      if (isFailing(answer)) this.#lists.push(...repeated(answer).map((one) => [one]));
      else this.#lists.push(pagesOf(answer));
    }
    for (const answer of watches) this.#watches.push(...(isFailing(answer) ? repeated(answer) : [answer]));
  }

  /** The next answer to a list; the pages of the last one again if there are no more. */
  nextList(): Page {
    const next = this.#rest.shift();
    if (next) return next;
    const pages = this.#lists.shift() ?? this.#last;
    if (!pages.some(isFailing)) this.#last = pages;
    const [first = { items: [], resourceVersion: "1" }, ...rest] = pages;
    this.#rest = rest;
    return first;
  }

  nextWatch(): Failing | WatchAnswer {
    return this.#watches.shift() ?? {};
  }
}

const repeated = (answer: Failing): readonly Failing[] => Array.from({ length: answer.times ?? 1 }, () => answer);

function pagesOf(answer: ListAnswer): Page[] {
  const { pages = [answer.items ?? []], takesMs, cutShort, raw } = answer;
  const resourceVersion = answer.resourceVersion ?? newest(pages.flat());
  return pages.map((items, index) => {
    const token = index + 1 < pages.length ? `page ${index + 2}` : answer.continue;
    const isLast = index + 1 === pages.length;
    return {
      items,
      resourceVersion,
      ...(token !== undefined && { continue: token }),
      ...(takesMs !== undefined && { takesMs }),
      ...(isLast && cutShort !== undefined && { cutShort }),
      ...(raw !== undefined && { raw }),
    };
  });
}

function newest(objects: readonly StoredObject[]): string {
  const versions = objects.map((object) => identityOf(object).version);
  return versions.reduce((most, version) => (Number(version) > Number(most) ? version : most), versions[0] ?? "1");
}
