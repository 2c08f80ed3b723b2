import type { UpstreamReport } from '#shared/status.ts';
import { hashOf } from '../../route.ts';
import * as t from '../../text/t.ts';
import { CodeLine } from '../../ui/buttons.tsx';
import { useWindow } from '../../window-context.ts';
import { CodeSample } from './code-sample.tsx';

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
