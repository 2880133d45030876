import { isOwnedBy, type SlicePlan } from "./slice.ts";
import type { SliceOwner } from "./write.ts";

/**
 * Reuses slices to be deleted for slices to be created (docs/kubernetes-rules.md#endpoint-slices): fewer writes, and
 * watchers receive one change instead of two. Only for slices of the same owner and address type, starting with the
 * last new one.
 */
export function recycled(
  { create, update, remove }: SlicePlan,
  { reference }: Pick<SliceOwner, "reference">,
): SlicePlan {
  const [left, updates, removals] = [[...create], [...update], [...remove]];
  for (let index = 0; index < removals.length && left.length > 0; ) {
    const [slice, content] = [removals[index], left.at(-1)];
    if (slice && content && slice.addressType === content.addressType && isOwnedBy(slice, reference)) {
      left.pop();
      removals.splice(index, 1);
      updates.push({ slice, content, madeOver: "kept" });
    } else {
      index++;
    }
  }
  return { create: left, update: updates, remove: removals };
}
