import { request } from "node:http";
import { type Clock, deadline, type Millis } from "../base/clock.ts";
import type { AskKubelet, KubeletAnswer } from "./kubelet-health.ts";

/** The default port of the kubelet's health endpoint: plain HTTP, only on loopback, without credentials. */
export const kubeletPort = 10248;
/** A kubelet on a busy board may take a while; the leader asks again after 5 s. */
const timeout: Millis = 2500;

/** The answer that a failed connection amounts to. */
export const answerAfter = (error: Error): KubeletAnswer =>
  "code" in error && localErrors.has(error.code) ? "unasked" : "silent";

/**
 * Errors of this machine, with which a connection fails before the kubelet learns of it. A pod on the host's network can
 * cause them by using up the ports from which processes connect.
 */
const localErrors: ReadonlySet<unknown> = new Set([
  "EADDRNOTAVAIL",
  "EADDRINUSE",
  "EAGAIN",
  "EMFILE",
  "ENFILE",
  "ENOBUFS",
  "ENOMEM",
]);

/** Asks the kubelet's health endpoint. Never rejects. */
export const healthz =
  (clock: Clock, port = kubeletPort): AskKubelet =>
  () =>
    new Promise((resolve) => {
      const bound = deadline(
        clock,
        timeout,
        new AbortController().signal,
        () => new Error("the kubelet does not answer"),
      );
      const over = (answer: KubeletAnswer): void => {
        bound.dispose();
        resolve(answer);
      };
      const at = { host: "127.0.0.1", port, path: "/healthz", agent: false, signal: bound.signal };
      const sent = request(at, (response) => {
        over(response.statusCode === 200 ? "ok" : "unhealthy");
        // The body is not needed, and may never end.
        response.destroy();
      });
      sent.once("error", (error) => over(answerAfter(error)));
      sent.end();
    });
