import { LiveTable, tableLines } from "../../../simulator/live-table.ts";
import type { SitePicture } from "../../../simulator/site-picture.ts";
import { changesBetween } from "../../../simulator/timeline.ts";
import { type Clock, elapsed, type Instant } from "../../base/clock.ts";
import type { Io } from "../../base/io.ts";

/** Lines of news below the table. */
const newsShown = 8;
/** Lines of news kept for the end of a scenario, as the table overwrote them. */
const newsKept = 2000;

/** Fallback for terminals that report no size, or 0. */
const usualSize = { columns: 80, rows: 24 };

/** Whether a table can be redrawn in place; a dumb or unknown terminal only gets lines. */
export const canDraw = ({ stdout, env }: Pick<Io, "stdout" | "env">): boolean =>
  stdout.isTTY && !["", "dumb"].includes(env.TERM ?? "");

/** The display of the site: a table redrawn in place, or a line per change. */
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
    parts: { readonly title: string; readonly plain: boolean; readonly keys?: string | undefined },
  ) {
    this.#io = io;
    this.#clock = io.clock;
    this.#title = parts.title;
    this.#keys = parts.keys;
    this.#begun = io.clock.now();
    if (canDraw(io) && !parts.plain) this.#table = new LiveTable({ write: (text) => io.stdout.write(text) });
  }

  /** Prints the introduction, which stays above everything else. */
  introduce(text: string): void {
    this.#introduction = text;
    this.#io.stdout.write(text);
  }

  /** Restarts the time stamps. */
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
    const columns = stdout.columns || usualSize.columns;
    const rows = stdout.rows || usualSize.rows;
    const keys = this.#keys === undefined ? undefined : { help: this.#keys, selected: this.#selected };
    const look = { columns, rows, unicode: /utf-?8/i.test(localeOf(env)), keys };
    const size = `${columns} ${rows}`;
    // After a resize the terminal has moved the old table's lines, so clear it instead of drawing over it.
    if (this.#size !== "" && this.#size !== size) this.#table.clear(this.#introduction);
    this.#size = size;
    this.#table.draw(tableLines(this.#title, site, this.#news.slice(-newsShown), look));
  }

  /** The board that keys act on; undefined: the first one. */
  get selected(): string | undefined {
    return this.#selected;
  }

  select(board: string): void {
    this.#selected = board;
  }

  /** Prints the news that the table showed only briefly. */
  close(): void {
    if (!this.#table) return;
    this.#io.stdout.line("");
    for (const line of this.#news) this.#io.stdout.line(line);
  }
}

const localeOf = (env: Io["env"]): string => env.LC_ALL || env.LC_CTYPE || env.LANG || "";
