export const models = {
  columns: {
    name: 'Asked for',
    calls: 'Requests',
    last: 'Last',
    went: 'Went to',
    map: 'Send to',
  },
};
