import { randomUUID } from "node:crypto";

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  uuid(): string;
}

export class SystemRandom implements Random {
  next(): number {
    return Math.random();
  }

  uuid(): string {
    return randomUUID();
  }
}

/** The duration stretched by a random factor: uniform in [duration, duration × (1 + factor)). */
export const jitter = (random: Random, duration: number, factor: number): number =>
  duration * (1 + factor * random.next());
