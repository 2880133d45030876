/** One field on the wire: a number, or bytes that only the schema can interpret. */
export interface Piece {
  readonly number: number;
  readonly value: bigint | Uint8Array;
}

/** The fields of a message in order. Throws a RangeError if the bytes end too early or are invalid. */
export function piecesOf(bytes: Uint8Array): readonly Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) break;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a number in a protobuf message does not end");
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [number, form] = [Math.floor(tag / 8), tag % 8];
    if (form === 0) pieces.push({ number, value: varint() });
    else if (form === 2) {
      const length = Number(varint());
      if (length > bytes.length - at) throw new RangeError("a protobuf message ends too early");
      pieces.push({ number, value: bytes.subarray(at, at + length) });
      at += length;
    } else throw new RangeError(`a protobuf field of form ${form} is not used by Kubernetes`);
  }
  return pieces;
}
