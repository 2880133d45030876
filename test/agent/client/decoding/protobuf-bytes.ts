/** Writes protobuf, as much of it as tests need: a number, or bytes with their length before them. */
export function field(number: number, value: number | bigint | string | Uint8Array): Buffer {
  if (typeof value === "number" || typeof value === "bigint") return Buffer.concat([varint(number * 8), varint(value)]);
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

export const concat = (...parts: readonly Uint8Array[]): Buffer => Buffer.concat(parts);

export function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    const low = Number(rest & 0x7fn);
    if (rest < 0x80n) return Buffer.from([...bytes, low]);
    bytes.push(low | 0x80);
  }
}

/** A body as a Kubernetes API server sends it. */
export const envelope = (kind: string, raw: Uint8Array): Buffer =>
  concat(
    Buffer.from("k8s\0"),
    field(1, concat(field(1, "v1"), field(2, kind))),
    field(2, raw),
    field(3, ""),
    field(4, ""),
  );
