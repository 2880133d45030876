import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Where the API server answers in the network, and the name that its certificate has. */
export const cloud = { address: "10.77.0.1", port: 6443, name: "kubernetes" } as const;

/** The addresses of a board: on its uplink and on the site's LAN. */
const uplinkOf = (board: number): string => `10.77.0.${10 + board}`;
const lanOf = (board: number): string => `192.0.2.${10 + board}`;

/**
 * A site's cables, in network namespaces of their own: every board has an uplink to the cloud and a port on the LAN's
 * switch. The cloud and the switch are namespaces too, and nothing reaches the machine's own network.
 */
export class SiteNetwork {
  readonly #prefix: string;
  readonly #boards: number;
  readonly #namespaces: string[] = [];
  /** How to undo each fault. */
  readonly #repairs = new Map<string, () => void>();

  constructor(boards: number) {
    this.#boards = boards;
    this.#prefix = `sw-${process.pid}`;
  }

  /** Why no network can be made on this machine; undefined if it can. */
  static whyNot(): string | undefined {
    if (process.getuid?.() !== 0) return "network namespaces need root";
    if (!["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].some(existsSync)) return "there is no ip command (iproute2)";
    try {
      ip("netns", "add", `sw-${process.pid}-try`);
      ip("netns", "del", `sw-${process.pid}-try`);
      return undefined;
    } catch (error) {
      return `no network namespace can be made: ${error instanceof Error ? error.message.trim() : error}`;
    }
  }

  start(): void {
    for (const place of ["cloud", "lan"] as const) {
      this.#make(place);
      this.#in(place, "link", "add", "switch", "type", "bridge");
      this.#in(place, "link", "set", "switch", "up");
    }
    // Stays down. A port without a switch would be one of the cloud's own, at which it answers to its address.
    this.#in("cloud", "link", "add", "nowhere", "type", "bridge");
    this.#in("cloud", "addr", "add", `${cloud.address}/24`, "dev", "switch");
    for (let board = 0; board < this.#boards; board++) this.#makeBoard(board);
  }

  /** The words before a command that run it on a board, or in the cloud. */
  through(place: number | "cloud"): readonly string[] {
    return ["ip", "netns", "exec", this.#name(place)];
  }

  /** Packets between the board and the cloud are lost, in both directions; the board's end of the cable stays up. */
  cutUplink(board: number): void {
    this.#in("cloud", "link", "set", port(board), "master", "nowhere");
    this.#repairs.set(`uplink of ${board}`, () => this.#in("cloud", "link", "set", port(board), "master", "switch"));
  }

  mendUplink(board: number): void {
    this.#mend(`uplink of ${board}`);
  }

  /** Pulls the plug: the board's end of the cable goes down as well. */
  unplugLan(board: number): void {
    this.#in("lan", "link", "set", port(board), "down");
    this.#repairs.set(`plug of ${board}`, () => this.#in("lan", "link", "set", port(board), "up"));
  }

  /** Packets from one board to another on the LAN are lost; the other direction works. There is no IPv6 meanwhile. */
  cutLanOneWay(from: number, to: number): void {
    this.#in(from, "route", "add", "blackhole", `${lanOf(to)}/32`);
    this.#setIpv6(from, false);
    this.#repairs.set(`${from} to ${to}`, () => {
      this.#in(from, "route", "del", "blackhole", `${lanOf(to)}/32`);
      this.#setIpv6(from, true);
    });
  }

  /** The board gets another address on the LAN, as from a router that was restarted. */
  readdress(board: number): void {
    const exchange = (from: string, to: string): void => {
      this.#in(board, "addr", "del", `${from}/24`, "dev", "lan");
      this.#in(board, "addr", "add", `${to}/24`, "broadcast", "+", "dev", "lan");
    };
    exchange(lanOf(board), lanOf(100 + board));
    this.#repairs.set(`address on the LAN of ${board}`, () => exchange(lanOf(100 + board), lanOf(board)));
  }

  /** Packets from the cloud to the board are lost; those from the board arrive. */
  cutDownlink(board: number): void {
    this.#in("cloud", "route", "add", "blackhole", `${uplinkOf(board)}/32`);
    const mend = (): void => this.#in("cloud", "route", "del", "blackhole", `${uplinkOf(board)}/32`);
    this.#repairs.set(`downlink of ${board}`, mend);
  }

  /** The taker gets the LAN address of a board that is off: the switch forwards to it what is sent to the board. */
  takeOver(taker: number, board: number): void {
    this.unplugLan(board);
    this.#in(taker, "addr", "add", `${lanOf(board)}/24`, "dev", "lan");
    this.#repairs.set(`address of ${board}`, () => this.#in(taker, "addr", "del", `${lanOf(board)}/24`, "dev", "lan"));
  }

  /** Undoes every fault. */
  mend(): void {
    for (const what of [...this.#repairs.keys()]) this.#mend(what);
  }

  stop(): void {
    for (const namespace of this.#namespaces.splice(0)) ip("netns", "del", namespace);
  }

  #setIpv6(board: number, isOn: boolean): void {
    const setting = "/proc/sys/net/ipv6/conf/lan/disable_ipv6";
    const [command = "", ...words] = [...this.through(board), "sh", "-c", `echo ${isOn ? 0 : 1} > ${setting}`];
    execFileSync(command, words, { stdio: ["ignore", "ignore", "pipe"] });
  }

  #mend(what: string): void {
    this.#repairs.get(what)?.();
    this.#repairs.delete(what);
  }

  #makeBoard(board: number): void {
    this.#make(board);
    for (const [end, place, address] of [
      ["uplink", "cloud", uplinkOf(board)],
      ["lan", "lan", lanOf(board)],
    ] as const) {
      const name = this.#name(place);
      this.#in(board, "link", "add", end, "type", "veth", "peer", "name", port(board), "netns", name);
      this.#in(place, "link", "set", port(board), "master", "switch", "up");
      this.#in(board, "addr", "add", `${address}/24`, "dev", end);
      this.#in(board, "link", "set", end, "up");
    }
  }

  #make(place: Place): void {
    ip("netns", "add", this.#name(place));
    this.#namespaces.push(this.#name(place));
    this.#in(place, "link", "set", "lo", "up");
  }

  #name = (place: Place): string => `${this.#prefix}-${typeof place === "number" ? `board-${place}` : place}`;

  #in(place: Place, ...words: readonly string[]): void {
    ip("-n", this.#name(place), ...words);
  }
}

type Place = number | "cloud" | "lan";

/** The port of a board on a switch. */
const port = (board: number): string => `board-${board}`;

function ip(...words: readonly string[]): void {
  execFileSync("ip", words, { stdio: ["ignore", "ignore", "pipe"] });
}
