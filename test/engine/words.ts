const SYLLABLES = ['ka', 'lo', 'mi', 'nu', 'pe', 'ra', 'so', 'ti'];

/** Sixty words, none of which begins another. */
export const WORDS: readonly string[] = Array.from({ length: 60 }, (_, at) => {
  return ` ${SYLLABLES[at % 8] ?? ''}${SYLLABLES[Math.floor(at / 8)] ?? ''}x`;
});
