import { hashOf } from '../../route.ts';
import { t } from '../../text/t.ts';
import { CodeLine } from '../../ui/code-line.tsx';
import { useWindow } from '../../window-context.ts';
import { firstRequest } from './curl-line.ts';

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
      <CodeLine text={firstRequest(baseUrl, data.status.upstreams)} what={words.what} />
    </div>
  );
}
