/** A patch that cannot be applied. malformed: it is no patch at all. inapplicable: this object does not admit it. */
export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly disposition = "drop";
  readonly kind: "malformed" | "inapplicable";

  constructor(kind: PatchError["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
