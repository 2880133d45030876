import type { SiteControls } from "../../agent/commands/desk/controls.ts";

/** The operation, without the signal that ends its order. */
type Unlimited<Operation> = Operation extends (...args: [...infer Rest, AbortSignal]) => infer Answer
  ? (...args: Rest) => Answer
  : Operation;

export type UnlimitedControls = { readonly [Name in keyof SiteControls]: Unlimited<SiteControls[Name]> };

/** The controls of a site, for orders that wait for their answer as long as it takes. */
export function unlimited(controls: SiteControls): UnlimitedControls {
  const { signal } = new AbortController();
  return {
    standing: () => controls.standing(),
    freeze: (...order) => controls.freeze(...order, signal),
    thaw: (...order) => controls.thaw(...order, signal),
    releaseValve: (...order) => controls.releaseValve(...order, signal),
    rearmValve: (...order) => controls.rearmValve(...order, signal),
    pause: (...order) => controls.pause(...order, signal),
    resume: (...order) => controls.resume(...order, signal),
    confirmZoneDead: (...order) => controls.confirmZoneDead(...order, signal),
    unconfirmZoneDead: (...order) => controls.unconfirmZoneDead(...order, signal),
    confirmBoardDead: (...order) => controls.confirmBoardDead(...order, signal),
    stepDown: (...order) => controls.stepDown(...order, signal),
    cordon: (...order) => controls.cordon(...order, signal),
    drain: (...order) => controls.drain(...order),
    draining: () => controls.draining(),
  };
}
