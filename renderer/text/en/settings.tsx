export const settings = {
  of: (label: string) => `: ${label}`,
  sections: {
    circuit: 'Skip what fails',
    routing: 'Routing',
    agent: 'This machine',
    gateway: 'Gateway',
  } as Readonly<Record<string, string>>,
  summary: {
    listens: (host: string, port: string) =>
      port === '0' ? `${host}, any free port` : `${host}, port ${port}`,
  },
  save: {
    save: 'Save',
    saving: 'Saving…',
    unchanged: 'Nothing to save',
  },
  search: 'Search settings',
  groups: { connection: 'Connection', price: 'Price and budget', advanced: 'Advanced' },
};

export const keys = {
  title: 'Keys for apps',
  name: 'Name of the app',
  limits: {
    names: {
      requestsDay: 'Requests per day',
      requestsMonth: 'Requests per month',
      tokensDay: 'Tokens per day',
      tokensMonth: 'Tokens per month',
    },
    some: { near: 'a limit is almost used up', reached: 'a limit is used up' },
  },
};
