/** How far a JSON number has come (RFC 8259, section 6). */
export type NumberState = number;

/** What comes is no number, or not any more. */
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

/** The state after one more byte: a row for each state, a column for each kind of byte. */
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

/** Where a number that begins with `byte` stands. */
export function beginNumber(byte: number): NumberState {
  return byte === 0x2d ? MINUS : goOnNumber(MINUS, byte);
}

/** Where a number stands after one more byte. */
export function goOnNumber(state: NumberState, byte: number): NumberState {
  return STEPS[state]?.[kindOf(byte)] ?? NO;
}

/** Whether a number may end here. */
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
