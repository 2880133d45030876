/** Which keys this board looks after. */
export interface Assignment {
  owns(controller: string, key: string): boolean;
}

export const leaderOwnsAll: Assignment = { owns: () => true };
