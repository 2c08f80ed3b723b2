import type { LiveData } from '../../api/live-data.ts';
import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';
import { CodeLine } from '../../ui/code-line.tsx';
import { firstRequest } from './curl-line.ts';

const words = t.requests.first;

interface FirstRequestProps {
  readonly data: LiveData;
  /** The level below the page's or the section's title. */
  readonly heading: 'h2' | 'h3';
}

export function FirstRequest({ data, heading: Heading }: FirstRequestProps) {
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
      <CodeLine text={firstRequest(baseUrl, data.status.upstreams)} what={words.what} />
    </div>
  );
}
