import { TRY_IT } from '../../route.ts';
import * as t from '../../text/t.ts';
import { CodeLine } from '../../ui/buttons.tsx';
import { useWindow } from '../../window-context.ts';

export function FirstRequest() {
  return (
    <div className="empty">
      <h2>No requests yet</h2>
      <p>
        Point an app at the base URL, or <a href={TRY_IT}>try a prompt</a> on the Overview.
      </p>
      <CodeLine text={useWindow().data.app.baseUrl} what={t.shell.theBaseUrl} />
    </div>
  );
}
