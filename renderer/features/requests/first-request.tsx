import { TRY_IT } from '../../route.ts';
import * as t from '../../text/t.ts';
import { CodeLine } from '../../ui/buttons.tsx';
import { useWindow } from '../../window-context.ts';

/** `heading`: the level below the page's or the section's title. */
export function FirstRequest({ heading: Heading }: { readonly heading: 'h2' | 'h3' }) {
  return (
    <div className="empty">
      <Heading>No requests yet</Heading>
      <p>
        Point an app at the base URL, or <a href={TRY_IT}>try a prompt</a> on the Overview.
      </p>
      <CodeLine text={useWindow().data.app.baseUrl} what={t.shell.theBaseUrl} />
    </div>
  );
}
