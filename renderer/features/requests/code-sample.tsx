import { useState } from 'react';
import * as t from '../../text/t.ts';
import { CodeLine } from '../../ui/buttons.tsx';
import { codeSamples, type Language, LANGUAGES, type SampleRequest } from './code-samples.ts';

const words = t.requests.samples;

/** A request as code, in the language that the reader chooses; nothing for endpoints without a sample. */
export function CodeSample({ request }: { readonly request: SampleRequest }) {
  const [language, setLanguage] = useState<Language>('curl');
  const samples = codeSamples(request);
  if (samples === null) return null;
  return (
    <div className="code-sample">
      <fieldset className="filters">
        <legend className="unseen">{words.language}</legend>
        {LANGUAGES.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === language}
            onClick={() => setLanguage(each)}
          >
            {words.languages[each]}
          </button>
        ))}
      </fieldset>
      <CodeLine text={samples[language]} what={words.what(words.languages[language])} />
    </div>
  );
}
