/*
 * The signs of JSON as bytes, which are also their UTF-16 code units: for code that reads a text without parsing it.
 * Bytes of longer UTF-8 characters are never among them.
 */
export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const openList = 0x5b;
export const backslash = 0x5c;
export const closeList = 0x5d;
export const openObject = 0x7b;
export const closeObject = 0x7d;
