import { testWords, type TestState } from './test-text.ts';

interface TestResultProps {
  readonly state: TestState | null;
  readonly isBrief?: boolean;
}

/** The result of a test, read aloud when it changes; empty before the first test. */
export function TestResult({ state, isBrief = false }: TestResultProps) {
  const words = state === null ? null : testWords(state);
  return (
    <output className="test-result" data-tone={words?.tone}>
      {words !== null && (
        <>
          <strong>{words.word}</strong> {isBrief ? words.brief : words.detail}
        </>
      )}
    </output>
  );
}
