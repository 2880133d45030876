import { LiveTable, tableLines } from "../../../../simulator/view/live-table.ts";
import type { SitePicture } from "../../../../simulator/view/site-picture.ts";
import { changesBetween } from "../../../../simulator/view/timeline.ts";
import { type Clock, elapsed, type Instant } from "../../../base/clock.ts";
import type { Io } from "../../../base/io.ts";

/** Maximum number of news lines below the table. */
const newsShown = 8;
/** Maximum number of news lines that are kept, to be printed at the end of a scenario. */
const newsKept = 2000;

/** The size assumed for terminals that report none, or 0. */
const fallbackSize = { columns: 80, rows: 24 };

/** True if a table can be redrawn in place. A dumb or unknown terminal receives plain lines. */
export const canDraw = ({ stdout, env }: Pick<Io, "stdout" | "env">): boolean =>
  stdout.isTTY && !["", "dumb"].includes(env.TERM ?? "");

/** Shows the site: as a table that is redrawn in place, or with a line for each change. */
export class UpView {
  readonly #io: Pick<Io, "stdout" | "env">;
  readonly #clock: Clock;
  readonly #title: string;
  readonly #table: LiveTable | undefined;
  readonly #keys: string | undefined;
  #news: string[] = [];
  #shown: SitePicture | undefined;
  #begun: Instant;
  #phase = "";
  #selected: string | undefined;
  #introduction = "";
  /** Terminal size at the last drawing. */
  #size = "";

  constructor(
    io: Pick<Io, "stdout" | "env" | "clock">,
    options: { readonly title: string; readonly plain: boolean; readonly keys?: string | undefined },
  ) {
    this.#io = io;
    this.#clock = io.clock;
    this.#title = options.title;
    this.#keys = options.keys;
    this.#begun = io.clock.now();
    if (canDraw(io) && !options.plain) this.#table = new LiveTable({ write: (text) => io.stdout.write(text) });
  }

  /** Prints the introduction, which remains above everything else. */
  introduce(text: string): void {
    this.#introduction = text;
    this.#io.stdout.write(text);
  }

  /** Begins a phase: later lines are stamped with its name and the time since this call. */
  begin(phase: string): void {
    this.#begun = this.#clock.now();
    this.#phase = phase;
  }

  readonly say = (line: string): void => {
    const seconds = elapsed(this.#begun, this.#clock.now()) / 1000;
    const stamped = `${this.#phase}t=${seconds.toFixed(1)}s ${line}`;
    if (!this.#table) this.#io.stdout.line(stamped);
    this.#news.push(stamped);
    if (this.#news.length > newsKept) this.#news = this.#news.slice(-newsKept / 2);
  };

  /** Reports changes since the last call, and redraws the table. */
  show(site: SitePicture): void {
    for (const line of changesBetween(this.#shown, site)) this.say(line);
    this.#shown = site;
    if (!this.#table) return;
    const { stdout, env } = this.#io;
    const columns = stdout.columns || fallbackSize.columns;
    const rows = stdout.rows || fallbackSize.rows;
    const keys = this.#keys === undefined ? undefined : { help: this.#keys, selected: this.#selected };
    const layout = { columns, rows, unicode: /utf-?8/i.test(localeOf(env)), keys };
    const size = `${columns} ${rows}`;
    // A resize moves the old table's lines, so it can no longer be overwritten.
    if (this.#size !== "" && this.#size !== size) this.#table.clear(this.#introduction);
    this.#size = size;
    this.#table.draw(tableLines(this.#title, site, this.#news.slice(-newsShown), layout));
  }

  /** The board that keys act on; undefined for the first one. */
  get selected(): string | undefined {
    return this.#selected;
  }

  select(board: string): void {
    this.#selected = board;
  }

  /** Prints all news lines again, because the table showed only the newest. */
  close(): void {
    if (!this.#table) return;
    this.#io.stdout.line("");
    for (const line of this.#news) this.#io.stdout.line(line);
  }
}

const localeOf = (env: Io["env"]): string => env.LC_ALL || env.LC_CTYPE || env.LANG || "";
