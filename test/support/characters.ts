import * as fc from 'fast-check';

const HALVES_FROM = 0xd800;
const HALVES = 0x800;

/** Text of any characters. For `unit: 'binary'` fast-check makes a table of them all, which takes a second. */
export const characters = (maxLength = 10) =>
  fc
    .array(fc.nat(0x10ffff - HALVES), { maxLength })
    .map((codes) =>
      String.fromCodePoint(...codes.map((code) => (code < HALVES_FROM ? code : code + HALVES))),
    );
