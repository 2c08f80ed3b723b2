import type { LiveData } from '../../api/live-data.ts';
import { firstRequest } from '../overview/setup.ts';
import { hashOf } from '../../route.ts';
import { CodeLine } from '../../ui/code-line.tsx';

export function FirstRequest({ data }: { readonly data: LiveData }) {
  const { baseUrl } = data.app;
  return (
    <div className="empty">
      <h3>No requests yet</h3>
      <p>
        Point a client at the base URL, send a message in{' '}
        <a href={hashOf({ page: 'chat' })}>Chat</a>, or try one from a terminal.
      </p>
      <CodeLine text={baseUrl} what="base URL" />
      <CodeLine text={firstRequest(baseUrl, data.status.upstreams)} what="first request" />
    </div>
  );
}
