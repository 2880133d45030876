/** The paths between this machine and a silent board. */
export interface Way {
  readonly board: string;
  /** Those by which it answered before, and those to its addresses on this machine's own networks. */
  readonly near: readonly string[];
  /** Those to all its addresses. */
  readonly announced: readonly string[];
  /** Whether this machine still has a network there in which it was when the board answered. */
  readonly isHere: boolean;
}

/**
 * Whether a question was sent to an address of the board by each path by which it answered before. After a change of
 * addresses on the LAN, those that it announced lead elsewhere, or its answers do, and that it leaves questions
 * unanswered shows nothing. A broadcast is no substitute: a board without an address in this machine's networks cannot
 * answer it.
 */
export const isAskedByAll = ({ near, announced, isHere }: Way): boolean =>
  isHere && near.every((path) => announced.includes(path));

/**
 * The paths by which this leader has to receive answers of others before the silence of a board shows anything.
 * `shared`: those to the addresses of the controls. Where the board and a control are on one network, this leader may
 * have lost its own port on that network before either of them ever answered there.
 */
export const neededPaths = ({ near, announced }: Way, shared: ReadonlySet<string>): readonly string[] => [
  ...new Set([...near, ...announced.filter((path) => shared.has(path))]),
];
