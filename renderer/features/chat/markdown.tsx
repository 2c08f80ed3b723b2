import { lexer, type Token, type Tokens } from 'marked';
import { Fragment, memo, type ReactNode } from 'react';
import * as t from '../../text/t.ts';
import { CopyButton } from '../../ui/buttons.tsx';

/**
 * Text of a model, with Markdown shown. The library only reads: every element is made here, so that HTML in the text
 * stays text, no image is fetched, and links go to the web alone.
 */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  return <div className="markdown">{blocks(lexer(text))}</div>;
});

const blocks = (tokens: readonly Token[]): ReactNode =>
  tokens.map((token, at) => <Fragment key={at}>{blockOf(token)}</Fragment>);

function blockOf(token: Token): ReactNode {
  switch (token.type) {
    case 'space':
      return null;
    case 'hr':
      return <hr />;
    case 'code':
      return <CodeBlock {...(token as Tokens.Code)} />;
    case 'heading':
      // The page has its own h1 and h2.
      return <p className="markdown-heading">{inline(token.tokens)}</p>;
    case 'blockquote':
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case 'list':
      return <List {...(token as Tokens.List)} />;
    case 'table':
      return <Table {...(token as Tokens.Table)} />;
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>;
    case 'text':
      return inlineOf(token);
    default:
      return <p>{token.raw}</p>;
  }
}

function CodeBlock({ text, lang }: Pick<Tokens.Code, 'text' | 'lang'>) {
  return (
    <div className="markdown-code">
      <div>
        <span>{lang ?? ''}</span>
        <CopyButton text={text} what={t.chat.code} />
      </div>
      <pre>
        <code>{text}</code>
      </pre>
    </div>
  );
}

function List({ ordered, start, items }: Pick<Tokens.List, 'ordered' | 'start' | 'items'>) {
  const entries = items.map((item, at) => <li key={at}>{blocks(item.tokens)}</li>);
  return ordered ? <ol start={start === '' ? undefined : start}>{entries}</ol> : <ul>{entries}</ul>;
}

function Table({ header, rows, align }: Pick<Tokens.Table, 'header' | 'rows' | 'align'>) {
  return (
    <div className="markdown-table">
      <table>
        <thead>
          <tr>
            {header.map((cell, at) => (
              <th key={at} scope="col" data-align={align[at] ?? undefined}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} data-align={align[column] ?? undefined}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const inline = (tokens: readonly Token[] = []): ReactNode =>
  tokens.map((token, at) => <Fragment key={at}>{inlineOf(token)}</Fragment>);

function inlineOf(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>;
    case 'em':
      return <em>{inline(token.tokens)}</em>;
    case 'del':
      return <del>{inline(token.tokens)}</del>;
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>;
    case 'br':
      return <br />;
    case 'checkbox':
      return token['checked'] === true ? '☑ ' : '☐ ';
    case 'escape':
      return (token as Tokens.Escape).text;
    case 'link':
      return <Link {...(token as Tokens.Link)} />;
    case 'text':
      return token.tokens === undefined ? (token as Tokens.Text).text : inline(token.tokens);
    default:
      // HTML and images, as they were written.
      return token.raw;
  }
}

const ON_THE_WEB = /^(https?|mailto):/i;

function Link({ href, tokens }: Pick<Tokens.Link, 'href' | 'tokens'>) {
  if (!ON_THE_WEB.test(href)) return inline(tokens);
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {inline(tokens)}
    </a>
  );
}
