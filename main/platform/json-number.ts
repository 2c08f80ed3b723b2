/** The state of a parser of JSON numbers (RFC 8259, section 6). */
export type NumberState = number;

/** The bytes so far are not the beginning of a number. */
export const NO_NUMBER: NumberState = -1;

const MINUS = 0;
const ZERO = 1;
const INTEGER = 2;
const POINT = 3;
const FRACTION = 4;
const EXPONENT = 5;
const EXPONENT_SIGN = 6;
const POWER = 7;
const NO = NO_NUMBER;

/** Columns of the table. */
const OTHER = 0;
const DIGIT_0 = 1;
const DIGIT = 2;
const DOT = 3;
const LETTER_E = 4;
const SIGN = 5;

/** The next state: a row for each state, a column for each kind of byte. */
const STEPS: readonly (readonly NumberState[])[] = [
  [NO, ZERO, INTEGER, NO, NO, NO],
  [NO, NO, NO, POINT, EXPONENT, NO],
  [NO, INTEGER, INTEGER, POINT, EXPONENT, NO],
  [NO, FRACTION, FRACTION, NO, NO, NO],
  [NO, FRACTION, FRACTION, NO, EXPONENT, NO],
  [NO, POWER, POWER, NO, NO, EXPONENT_SIGN],
  [NO, POWER, POWER, NO, NO, NO],
  [NO, POWER, POWER, NO, NO, NO],
];

/** The state after the first byte. */
export function beginNumber(byte: number): NumberState {
  return byte === 0x2d ? MINUS : continueNumber(MINUS, byte);
}

/** The state after one more byte. */
export function continueNumber(state: NumberState, byte: number): NumberState {
  return STEPS[state]?.[kindOf(byte)] ?? NO;
}

/** Whether a number may end in this state. */
export function isWholeNumber(state: NumberState): boolean {
  return state === ZERO || state === INTEGER || state === FRACTION || state === POWER;
}

function kindOf(byte: number): number {
  if (byte === 0x30) return DIGIT_0;
  if (byte > 0x30 && byte <= 0x39) return DIGIT;
  if (byte === 0x2e) return DOT;
  if (byte === 0x65 || byte === 0x45) return LETTER_E;
  return byte === 0x2b || byte === 0x2d ? SIGN : OTHER;
}
