/** Decides which keys of a controller this board processes. */
export interface Assignment {
  owns(controller: string, key: string): boolean;
}

export const leaderOwnsAll: Assignment = { owns: () => true };
