import type { ContentsFace } from './electron-face.ts';
import { isOwnPage } from './own-origin.ts';

/** The one thing that the page may do beyond showing itself: its Copy buttons write plain text. */
const GRANTED = 'clipboard-sanitized-write';

/** Keeps a page on the gateway's own origin and without every permission but one. */
export function guardContents(contents: ContentsFace, ownOrigin: string): void {
  const stay = (navigation: { readonly url: string; preventDefault(): void }): void => {
    if (!isOwnPage(navigation.url, ownOrigin)) navigation.preventDefault();
  };
  contents.on('will-navigate', stay);
  contents.on('will-frame-navigate', stay);
  contents.on('will-redirect', stay);
  contents.on('will-attach-webview', (event) => event.preventDefault());
  contents.setWindowOpenHandler(() => ({ action: 'deny' }));

  const isGranted = (permission: string, page: string): boolean =>
    permission === GRANTED && isOwnPage(page, ownOrigin);
  contents.session.setPermissionCheckHandler((_contents, permission, origin) =>
    isGranted(permission, origin),
  );
  contents.session.setPermissionRequestHandler((_contents, permission, callback, details) =>
    callback(isGranted(permission, details.requestingUrl)),
  );
}
