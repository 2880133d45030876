/*
 * JSON's structural characters as bytes, which are also their UTF-16 code units, for code that scans JSON without
 * parsing it. They never occur within a multi-byte UTF-8 character.
 */
export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const openList = 0x5b;
export const backslash = 0x5c;
export const closeList = 0x5d;
export const openObject = 0x7b;
export const closeObject = 0x7d;
