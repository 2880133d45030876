/**
 * One HTTP exchange with the site API as plain values, for the simulated boards, the scheduler and the live table. In a
 * running site, it uses a board's own link; in tests, it is a function call.
 */
export type SiteExchange = (request: SiteRequest) => Promise<SiteResponse>;

export interface SiteRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path and query, beginning with "/". */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface SiteResponse {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array>;
}
