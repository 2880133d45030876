/**
 * One HTTP exchange with the site API as plain values: what the simulated boards, the scheduler and the table need. Over
 * a board's own link in a running site; a function call in tests.
 */
export type Exchange = (request: SiteRequest) => Promise<SiteResponse>;

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
