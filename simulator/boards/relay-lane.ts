import type { Socket } from "node:net";
import type { Ambient } from "../../agent/base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted, type Timer } from "../../agent/base/clock.ts";

/** Bytes in flight in one lane above which the sender must wait. */
const maxUnderWay = 256 * 1024;

interface Parcel {
  /** The bytes to deliver; undefined for the end of the stream. */
  readonly bytes: Buffer | undefined;
  readonly due: Instant;
}

/**
 * One direction of a connection. Bytes arrive in order, each of them one delay after it was sent, and none arrive while
 * the lane is closed.
 */
export class RelayLane {
  readonly #ambient: Pick<Ambient, "clock">;
  readonly #from: Socket;
  readonly #to: Socket;
  #parcels: Parcel[] = [];
  #underWay = 0;
  #open = false;
  #delay: Millis = 0;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(ambient: Pick<Ambient, "clock">, from: Socket, to: Socket) {
    this.#ambient = ambient;
    this.#from = from;
    this.#to = to;
    from.on("data", (bytes: Buffer) => this.#take(bytes));
    from.on("end", () => this.#take(undefined));
    from.pause();
    to.on("drain", () => this.#move());
  }

  set({ open, delay }: { readonly open: boolean; readonly delay: Millis }): void {
    this.#open = open;
    this.#delay = delay;
    this.#move();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#parcels = [];
  }

  #take(bytes: Buffer | undefined): void {
    this.#parcels.push({ bytes, due: shifted(this.#ambient.clock.now(), this.#delay) });
    this.#underWay += bytes?.length ?? 0;
    this.#move();
  }

  /** Delivers the bytes that are due, and resumes the sender once there is room. */
  #move(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#stopped) return;
    const now = this.#ambient.clock.now();
    while (this.#open && !this.#to.writableNeedDrain) {
      const [first] = this.#parcels;
      if (first === undefined) break;
      const wait = elapsed(now, first.due);
      if (wait > 0) {
        this.#timer = this.#ambient.clock.after(wait, () => this.#move());
        break;
      }
      this.#parcels.shift();
      this.#underWay -= first.bytes?.length ?? 0;
      if (first.bytes) this.#to.write(first.bytes);
      else this.#to.end();
    }
    if (this.#open && this.#underWay < maxUnderWay) this.#from.resume();
    else this.#from.pause();
  }
}
