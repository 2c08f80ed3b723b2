import type { LiveData } from '../../api/live-data.ts';
import { firstRequest } from '../overview/setup.ts';
import { hashOf } from '../../route.ts';
import { CodeLine } from '../../ui/code-line.tsx';
import { t } from '../../text/t.ts';

const words = t.requests.first;

export function FirstRequest({ data }: { readonly data: LiveData }) {
  const { baseUrl } = data.app;
  return (
    <div className="empty">
      <h3>{words.title}</h3>
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
