import type { StateFolder } from "../../storage/state-folder.ts";
import type { Transport } from "../client/transport/transport.ts";
import type { Config } from "../config/settings.ts";
import type { LoadControllers } from "../leading/term-work.ts";
import type { KeyFile } from "../witness/board-key.ts";
import type { AskGateway } from "../witness/gateway.ts";
import type { AskKubelet, KubeletFile } from "../witness/kubelet-health.ts";
import type { Lan, PathTo } from "../witness/lan.ts";

/** Everything that the agent receives from outside: settings, databases, network, facts about this machine. */
export interface Edges {
  readonly config: Config;
  /** The databases, locked by this process. The caller that opened them closes them. */
  readonly folder: Pick<StateFolder, "state" | "cache" | "obstacle" | "room">;
  readonly transport: Transport;
  /** Makes subsequent requests open a new connection; requests in flight continue. */
  readonly renewConnection: () => void;
  /**
   * The API server's address. It identifies the cluster if the agent is not permitted to read the cluster's own
   * identity.
   */
  readonly address: () => Promise<string>;
  readonly controllers: LoadControllers;
  readonly bootId: string;
  /** Identifies this copy of the state folder on this machine; a copy on another card or machine differs. */
  readonly place: string;
  readonly version: string;
  readonly witness: WitnessEdges;
  /** Why the cache was deleted before this agent was built; undefined if it was kept. */
  readonly rebuilt: Error | undefined;
  /** Why this board must not lead, even if no other board can; undefined if it may lead. */
  readonly barred: () => string | undefined;
  /** Called after each change that must appear in the status file immediately. */
  readonly statusChanged: () => void;
}

/** The files, functions and facts that a board needs to ask and answer on its LAN. */
export interface WitnessEdges {
  readonly lan: Lan;
  readonly keyFile: KeyFile;
  readonly kubeletFile: KubeletFile;
  readonly askKubelet: AskKubelet;
  readonly askGateway: AskGateway;
  /** Reads how this machine reaches others now. */
  readonly paths: () => PathTo;
  /** The broadcast and multicast addresses that reach every machine on a path; empty if there are none. */
  readonly everyoneOn: (path: string) => readonly string[];
  /** This machine's addresses on the LAN now. */
  readonly addresses: () => readonly string[];
}
