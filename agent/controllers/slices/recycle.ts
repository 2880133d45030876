import { isOwnedBy, type SlicePlan } from "./slice.ts";
import type { SliceOwner } from "./write.ts";

/**
 * Replaces the deletion of one slice and the creation of another by one update
 * (docs/kubernetes-rules.md#endpoint-slices), so that watchers receive one change instead of two. Only slices of the
 * same owner and address type are reused. The last of the new slices is the first to receive a reused one.
 */
export function recycle(
  { create, update, remove }: SlicePlan,
  { reference }: Pick<SliceOwner, "reference">,
): SlicePlan {
  const [left, updates, removals] = [[...create], [...update], [...remove]];
  for (let index = 0; index < removals.length && left.length > 0; ) {
    const [slice, content] = [removals[index], left.at(-1)];
    if (slice && content && slice.addressType === content.addressType && isOwnedBy(slice, reference)) {
      left.pop();
      removals.splice(index, 1);
      updates.push({ slice, content, reuse: "keep generateName" });
    } else {
      index++;
    }
  }
  return { create: left, update: updates, remove: removals };
}
