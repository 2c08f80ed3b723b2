import type { UpstreamReport } from '#shared/status.ts';
import { hashOf } from '../../route.ts';
import * as t from '../../text/t.ts';
import { CodeLine } from '../../ui/buttons.tsx';
import { useWindow } from '../../window-context.ts';
import { useState } from 'react';
import { codeSamples, type Language, LANGUAGES, type SampleRequest } from './code-samples.ts';

const words = t.requests.first;

/** `heading`: the level below the page's or the section's title. */
export function FirstRequest({ heading: Heading }: { readonly heading: 'h2' | 'h3' }) {
  const { data } = useWindow();
  const { baseUrl } = data.app;
  return (
    <div className="empty">
      <Heading>{words.title}</Heading>
      <p>
        {words.text((text) => (
          <a href={hashOf({ page: 'chat' })}>{text}</a>
        ))}
      </p>
      <CodeLine text={baseUrl} what={t.shell.theBaseUrl} />
      <CodeSample
        request={{
          baseUrl,
          endpoint: 'chat/completions',
          model: servedModel(data.status.upstreams),
          stream: true,
          needsKey: false,
        }}
      />
    </div>
  );
}

/** A model that is there; null if none is known. */
export const servedModel = (upstreams: readonly UpstreamReport[]): string | null =>
  upstreams.find(({ healthy, model }) => healthy && model !== '')?.model ?? null;

const sampleWords = t.requests.samples;

/** A request as code, in the language that the reader chooses; nothing for endpoints without a sample. */
export function CodeSample({ request }: { readonly request: SampleRequest }) {
  const [language, setLanguage] = useState<Language>('curl');
  const samples = codeSamples(request);
  if (samples === null) return null;
  return (
    <div className="code-sample">
      <fieldset className="filters">
        <legend className="unseen">{sampleWords.language}</legend>
        {LANGUAGES.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === language}
            onClick={() => setLanguage(each)}
          >
            {sampleWords.languages[each]}
          </button>
        ))}
      </fieldset>
      <CodeLine text={samples[language]} what={sampleWords.what(sampleWords.languages[language])} />
    </div>
  );
}
