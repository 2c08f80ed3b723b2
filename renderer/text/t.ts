/** The texts that several parts of the window show, and the words of states, reasons and settings. */
export * from './en/joining.tsx';
export * from './en/models.ts';
export * from './en/overview.tsx';
export * from './en/providers.tsx';
export * from './en/reasons.ts';
export * from './en/requests.tsx';
export * from './en/setting-names.ts';
export * from './en/settings.tsx';
export * from './en/setup.tsx';
export * from './en/shell.tsx';
export * from './en/states.ts';
export * from './en/this-machine.tsx';
export * from './en/usage.ts';
