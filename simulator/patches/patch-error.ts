/** A patch that cannot be applied. malformed: not a valid patch. inapplicable: it does not fit this object. */
export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly disposition = "drop";
  readonly kind: "malformed" | "inapplicable";

  constructor(kind: PatchError["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
