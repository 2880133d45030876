import type { Millis } from "../../base/clock.ts";
import type { ApiError } from "../../client/api-error.ts";
import type { ReflectorClient } from "../informer-client.ts";
import type { WatchHealthTracker } from "./watch-health-tracker.ts";

/**
 * Wraps the client to report to the health tracker what happens within a request. A refusal after which the client
 * repeats the request counts as a failure, and an object delivered by a list counts as progress.
 */
export const reporting = (
  client: ReflectorClient,
  health: WatchHealthTracker,
  report: (error: ApiError, wait: Millis, what: string) => void,
): ReflectorClient => {
  const refused = (error: ApiError): void => {
    if (health.refused()) report(error, error.retryAfter ?? 0, "request deferred by the server");
  };
  return {
    list: (resource, options, each, ...rest) => {
      const heard: typeof each = (object) => {
        health.listed();
        each(object);
      };
      return client.list(resource, { ...options, refused }, heard, ...rest);
    },
    watch: (resource, options, signal) => client.watch(resource, { ...options, refused }, signal),
  };
};
