import type { UpstreamId } from '#shared/ids.ts';

export type MenuAction =
  | 'copy-base-url'
  | 'open-window'
  | 'open-settings'
  | 'open-browser'
  | 'join-gateway'
  | 'pause'
  | 'drain'
  | 'resume'
  | 'toggle-warmup'
  | 'toggle-zero-spend'
  | `reset ${UpstreamId}`
  | 'toggle-login-item'
  | 'toggle-terminal-command'
  | 'toggle-key-place'
  | 'toggle-keep-awake'
  | 'toggle-update-checks'
  | 'proceed-update'
  | 'open-failed-machines'
  | `configure ${UpstreamId}`
  | 'open-logs'
  | 'open-diagnostics'
  | 'about'
  | 'quit';

export type MenuEntry =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly text: string; readonly action: MenuAction }
  | {
      readonly kind: 'switch';
      readonly text: string;
      readonly action: MenuAction;
      readonly on: boolean;
      readonly enabled: boolean;
    }
  | { readonly kind: 'separator' };
