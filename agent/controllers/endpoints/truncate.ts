import type { Subset, SubsetAddress } from "../service/go-text.ts";

/** Maximum number of addresses in one Endpoints object. */
const maxAddresses = 1000;

export interface Truncated {
  readonly subsets: readonly Subset[];
  readonly isTruncated: boolean;
}

/**
 * Limits the number of addresses (docs/kubernetes-rules.md#endpoints-over-capacity): ready ones first, each subset in
 * proportion to its size, rounded up, so that the last subsets get the rest. Subsets left empty are removed, because
 * the API rejects them.
 */
export function truncate(subsets: readonly Subset[]): Truncated {
  const ready = countOf(subsets, ({ addresses }) => addresses);
  const notReady = countOf(subsets, ({ notReadyAddresses }) => notReadyAddresses);
  if (ready + notReady <= maxAddresses) return { subsets, isTruncated: false };
  const room = ready > maxAddresses ? maxAddresses : maxAddresses - ready;
  const total = ready > maxAddresses ? ready : notReady;
  let left = room;
  const cut = (list: readonly SubsetAddress[] | undefined): readonly SubsetAddress[] => {
    const { length } = list ?? [];
    const kept = list?.slice(0, Math.min(Math.ceil((length / total) * room), left)) ?? [];
    left -= kept.length;
    return kept;
  };
  const kept = subsets.map(({ addresses, notReadyAddresses, ...rest }): Subset => {
    if (ready > maxAddresses) return { ...named("addresses", cut(addresses)), ...rest };
    return { ...named("addresses", addresses ?? []), ...named("notReadyAddresses", cut(notReadyAddresses)), ...rest };
  });
  const isLeft = ({ addresses, notReadyAddresses }: Subset): boolean => Boolean(addresses ?? notReadyAddresses);
  return { subsets: kept.filter(isLeft), isTruncated: true };
}

const countOf = (
  subsets: readonly Subset[],
  listOf: (subset: Subset) => readonly SubsetAddress[] | undefined,
): number => subsets.reduce((count, subset) => count + (listOf(subset)?.length ?? 0), 0);

const named = (name: "addresses" | "notReadyAddresses", list: readonly SubsetAddress[]): Subset =>
  list.length > 0 ? { [name]: list } : {};
