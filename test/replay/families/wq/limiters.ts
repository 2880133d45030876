import { defaultRetryLimits, type RetryLimits } from "../../../../agent/loop/retry-limiter.ts";
import { latest } from "../../case.ts";
import { choice, either, type FormOf, list, mapped, number, tagged } from "../../form.ts";

const exponential = {
  baseMs: number({ about: "The wait after the first failure, in milliseconds.", min: 0, max: latest }),
  maxMs: number({ about: "The longest wait, in milliseconds.", min: 0 }),
};
const bucket = {
  qps: number({ about: "Items per second, over all items.", min: 1e-6 }),
  burst: number({ about: "How many at once, before they have to wait.", min: 0 }),
};
const abouts = {
  exponential: "By item: base, twice that, four times that, … up to max.",
  bucket: "A token bucket of all items together: full at first; who finds no token waits until one is earned.",
};
const half = tagged("kind", { exponential, bucket }, abouts, { about: "One limiter." });

/** A half that never makes anybody wait. */
const eager: RetryLimits = { first: 0, max: 0, perSecond: 1e9, burst: 1e9 };

const limitsOf = (one: FormOf<typeof half>): Partial<RetryLimits> =>
  one.kind === "exponential" ? { first: one.baseMs, max: one.maxMs } : { perSecond: one.qps, burst: one.burst };

/** The program has one limiter, with an exponential half and a bucket. A case may leave either out. */
export const limiterForm = mapped(
  either(
    [
      choice(["default"], {
        about:
          "Upstream's DefaultControllerRateLimiter: 5 ms to 1000 s by item, and 10 per second with a burst of 100.",
      }),
      tagged(
        "kind",
        {
          exponential,
          bucket,
          maxOf: { of: list(half, { about: "An exponential one and a bucket; each at most once." }) },
        },
        { ...abouts, maxOf: "The longer of both waits." },
        { about: "A limiter." },
      ),
    ],
    {
      about:
        "What makes failed items wait; default by default. The program knows these kinds: a fast and slow limiter and one " +
        "with a longest wait over others are not there, because no controller uses them.",
    },
  ),
  (value, problems): RetryLimits | undefined => {
    if (value === "default") return defaultRetryLimits;
    if (value.kind !== "maxOf") return { ...eager, ...limitsOf(value) };
    if (new Set(value.of.map(({ kind }) => kind)).size < value.of.length) {
      return problems.add({
        is: "against a rule",
        message: "takes one exponential limiter and one bucket, not two of a kind",
      });
    }
    return Object.assign({}, eager, ...value.of.map(limitsOf));
  },
);
